/** What is fuzzed: sound inputs, and what must hold of any input made from them. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Mutation, mutated, mutations } from './mutation.ts';

/** Throws when the input shows a fault. */
export type Check = (input: Uint8Array) => void;

export interface FuzzTarget {
  name: string;
  /** Sound inputs, of all the kinds that occur. */
  sound: fc.Arbitrary<Uint8Array>;
  /** Texts that mean something in the format. */
  tokens: readonly (string | Uint8Array)[];
  check: Check;
  /**
   * The same check of a decoder with a bug, as it could have been written: {@link fuzz} must find
   * it, or a clean run means nothing.
   */
  planted: { what: string; check: Check };
}

export interface Finding {
  error: Error;
  /** The smallest failing input that was found. */
  input: Uint8Array;
  seed: number;
}

export interface FuzzRun {
  inputs: number;
  finding: Finding | undefined;
}

/** Inputs between two looks at the clock. */
const inputsPerRound = 500;

/** CPU time of one input of at most 64 KB, above which it is a finding: it would block a process. */
const cpuMsMax = 2_000;

/**
 * Fuzzes until `more` is false, with a seed after the other, or until an input fails; that one is
 * made as small as possible.
 */
export function fuzz(
  target: Pick<FuzzTarget, 'sound' | 'tokens'>,
  check: Check,
  firstSeed: number,
  more: (inputs: number) => boolean,
): FuzzRun {
  let inputs = 0;
  const damaged = fc.tuple(target.sound, mutations(target.tokens));
  const property = fc.property(damaged, ([sound, changes]: [Uint8Array, Mutation[]]) => {
    withinCpu(check, mutated(sound, changes));
  });
  for (let seed = firstSeed; more(inputs); seed++) {
    const details = fc.check(property, { numRuns: inputsPerRound, seed });
    inputs += details.numRuns;
    if (!details.failed) continue;
    const [[sound, changes]] = details.counterexample!;
    const error = details.errorInstance as Error;
    return { inputs, finding: { error, input: mutated(sound, changes), seed } };
  }
  return { inputs, finding: undefined };
}

function withinCpu(check: Check, input: Uint8Array): void {
  const before = process.cpuUsage();
  check(input);
  const { user, system } = process.cpuUsage(before);
  const cpuMs = (user + system) / 1_000;
  assert.ok(cpuMs < cpuMsMax, `${input.length} bytes took ${cpuMs} ms of CPU time`);
}

/** Runs `decode`; only an error of the decoder's own class may come out. Says whether none did. */
export function decodesOr(own: new (...args: never[]) => Error, decode: () => void): boolean {
  try {
    decode();
    return true;
  } catch (error) {
    if (error instanceof own) return false;
    throw error;
  }
}

/** The pieces in which a body arrives; they follow from the body, so that a failure repeats. */
export function* pieces(input: Uint8Array): Generator<Uint8Array> {
  let step = 1 + (input.length % 13);
  for (let at = 0; at < input.length; at += step) {
    step = 1 + ((step * 7 + input[at]!) % 61);
    yield input.subarray(at, at + step);
  }
}
