/**
 * Structured damage to sound inputs: what a broken or hostile sender does to bytes that were right.
 * fast-check makes and shrinks it, so a failing input comes out as few changes to a small input.
 */
import fc from 'fast-check';

export type Mutation =
  | { kind: 'set'; at: number; byte: number }
  | { kind: 'word'; at: number; value: number; bigEndian: boolean }
  | { kind: 'insert'; at: number; bytes: Uint8Array }
  | { kind: 'remove'; at: number; count: number }
  | { kind: 'repeat'; at: number; count: number; times: number }
  | { kind: 'move'; at: number; count: number; to: number }
  | { kind: 'cut'; at: number };

/** Larger inputs are cut, so that repeats of repeats end. */
const inputBytesMax = 65_536;

/** Lengths and counts at which arithmetic goes wrong. */
const words = [0, 1, 7, 8, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe];
const wordBytes = 4;

/** Some changes, often one; `tokens` are texts that mean something in the format. */
export function mutations(tokens: readonly (string | Uint8Array)[]): fc.Arbitrary<Mutation[]> {
  const at = fc.nat(inputBytesMax);
  const count = fc.oneof(fc.nat(8), fc.nat(300));
  const token = fc.constantFrom(
    ...tokens.map((each) => Uint8Array.from(Buffer.from(each as string))),
  );
  const byte = fc.oneof(fc.nat(255), fc.constantFrom(0, 0x0a, 0x22, 0x5c, 0x7b, 0x7d, 0x80, 0xff));
  return fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('set' as const), at, byte }),
      fc.record({
        ...{ kind: fc.constant('word' as const), at, bigEndian: fc.boolean() },
        value: fc.constantFrom(...words),
      }),
      fc.record({
        ...{ kind: fc.constant('insert' as const), at },
        bytes: fc.oneof(token, fc.uint8Array({ maxLength: 12 })),
      }),
      fc.record({ kind: fc.constant('remove' as const), at, count }),
      fc.record({ kind: fc.constant('repeat' as const), at, count, times: fc.nat(6) }),
      fc.record({ kind: fc.constant('move' as const), at, count, to: at }),
      fc.record({ kind: fc.constant('cut' as const), at }),
    ),
    { maxLength: 6 },
  );
}

/** The input with the changes made one after the other. Positions wrap around its length. */
export function mutated(input: Uint8Array, changes: readonly Mutation[]): Uint8Array {
  let bytes: Uint8Array = Uint8Array.from(input);
  for (const change of changes) bytes = applied(bytes, change).subarray(0, inputBytesMax);
  return bytes;
}

function applied(bytes: Uint8Array, change: Mutation): Uint8Array {
  const at = change.at % (bytes.length + 1);
  const before = bytes.subarray(0, at);
  switch (change.kind) {
    case 'set':
      if (at < bytes.length) bytes[at] = change.byte;
      return bytes;
    case 'word':
      if (at + wordBytes <= bytes.length) {
        new DataView(bytes.buffer, bytes.byteOffset).setUint32(at, change.value, !change.bigEndian);
      }
      return bytes;
    case 'insert':
      return joined(before, change.bytes, bytes.subarray(at));
    case 'remove':
      return joined(before, bytes.subarray(at + change.count));
    case 'repeat': {
      const span = bytes.subarray(at, at + change.count);
      return joined(before, ...Array<Uint8Array>(change.times).fill(span), bytes.subarray(at));
    }
    case 'move': {
      const span = bytes.subarray(at, at + change.count);
      const rest = joined(before, bytes.subarray(at + change.count));
      const to = change.to % (rest.length + 1);
      return joined(rest.subarray(0, to), span, rest.subarray(to));
    }
    case 'cut':
      return before;
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}
