/**
 * Requests of a run from a trace: copies of it laid over each other, each begun at another time,
 * until what falls into the time of the run is as much work as wanted. A copy that is at its end
 * begins again. Of the last copy, sessions are left out by chance. Copies, and beginnings, share the ids in `global` and nothing else.
 *
 * An answer's blocks get the ids that the session's next prompt has there, if that goes on from
 * this one; otherwise nobody shares them, and they only take room in a cache.
 */
import { defaultEngineParameters, SeededRandom } from '@leadsman/testing';
import { UsageError } from '../../arguments/usage-error.ts';
import type { RoutingRequest } from '../request.ts';
import { type BlockGrain, blockGrain } from './block-grain.ts';
import { nextTurns } from './next-turns.ts';
import { blockIds, type Trace, type TraceRow } from './trace.ts';

export interface OverlayOptions {
  /** Work of all requests together, in the unit of `rowMs`. */
  workMs: number;
  rowMs(row: TraceRow): number;
  durationMs: number;
  replicas: number;
  /** Requests longer than this fit into no engine and are left out. */
  tokensMax: number;
  /** A session's next turn waits for the answer; other requests come as recorded. */
  isClosed: boolean;
  seed: number;
}

interface Arrival {
  atMs: number;
  row: number;
  /** Numbers the copies and their beginnings. */
  part: number;
}

export function overlay(trace: Trace, options: OverlayOptions): RoutingRequest[] {
  const random = new SeededRandom(options.seed);
  const drawn = draw(trace, options, random.fork()).sort((a, b) => a.atMs - b.atMs);
  const replicas = random.fork();
  const grain = blockGrain(trace.blockTokens);
  const names = new BlockNames(trace, grain);
  const sessions = new Sessions(trace.rows);
  return drawn.map(({ atMs, row, part }, id) => {
    const { inputTokens, outputTokens, session } = trace.rows[row]!;
    const engineBlocks = names.of(row, part);
    const after = options.isClosed ? sessions.before(row, part, id) : undefined;
    return {
      id,
      atMs,
      promptTokens: inputTokens,
      outputTokens,
      blocks: engineBlocks.subarray(0, Math.floor(inputTokens / grain.tokens)),
      engineBlocks,
      replica: replicas.integer(options.replicas),
      session: session < 0 ? -1 : sessions.number(session, part),
      isLong: false,
      ...(after !== undefined && { after }),
    };
  });
}

/** Multiples of it, modulo 1, lie evenly between each other, however many there are. */
const goldenRatio = (Math.sqrt(5) - 1) / 2;

function draw(trace: Trace, options: OverlayOptions, random: SeededRandom): Arrival[] {
  const fits = trace.rows.map((row) => row.inputTokens + row.outputTokens <= options.tokensMax);
  if (!fits.includes(true)) {
    throw new UsageError(`no request of ${trace.name} fits into ${options.tokensMax} tokens of KV`);
  }
  const arrivals: Arrival[] = [];
  const first = random.next();
  let workLeftMs = options.workMs;
  let part = 0;
  for (let copy = 0; workLeftMs > 0; copy++) {
    const offsetMs = ((first + copy * goldenRatio) % 1) * trace.spanMs;
    const drawn: Arrival[] = [];
    let workMs = 0;
    for (let startMs = -offsetMs; startMs < options.durationMs; startMs += trace.spanMs) {
      for (const [row, content] of trace.rows.entries()) {
        const atMs = startMs + content.atMs;
        if (atMs < 0 || atMs >= options.durationMs) continue;
        if (!fits[row]) continue;
        drawn.push({ atMs, row, part });
        workMs += options.rowMs(content);
      }
      part++;
    }
    const keeps = keptOf(trace, workLeftMs / workMs, random);
    for (const arrival of drawn) if (keeps(arrival.row)) arrivals.push(arrival);
    workLeftMs -= workMs;
  }
  return arrivals;
}

/** Whether a row is among the share kept: whole sessions are or are not. */
function keptOf(trace: Trace, share: number, random: SeededRandom): (row: number) => boolean {
  if (!(share < 1)) return () => true;
  const isKept = new Map<number, boolean>();
  return (row) => {
    const { session } = trace.rows[row]!;
    if (session < 0) return random.next() < share;
    const known = isKept.get(session) ?? random.next() < share;
    isKept.set(session, known);
    return known;
  };
}

/** Gives blocks the numbers by which a run knows them: neighbours in a prompt are neighbours. */
class BlockNames {
  readonly #trace: Trace;
  readonly #grain: BlockGrain;
  readonly #next: Int32Array;
  readonly #global: ReadonlySet<number>;
  readonly #shared = new Map<number, number>();
  readonly #parts = new Map<number, Map<number, number>>();
  #nextName = 1;

  constructor(trace: Trace, grain: BlockGrain) {
    this.#trace = trace;
    this.#grain = grain;
    this.#next = nextTurns(trace);
    this.#global = new Set(trace.global);
  }

  /** The whole blocks of a row's prompt and answer. */
  of(row: number, part: number): Int32Array {
    const { rows, blockTokens } = this.#trace;
    const { tokens, split, group } = this.#grain;
    const { inputTokens, outputTokens } = rows[row]!;
    const next = this.#next[row]!;
    const ids = blockIds(rows[next < 0 ? row : next]!, blockTokens);
    const named = Math.floor((ids.length * split) / group);
    // The token sampled last is not computed by this request.
    const count = Math.max(
      Math.floor(inputTokens / tokens),
      Math.floor((inputTokens + outputTokens - 1) / tokens),
    );
    const names = new Int32Array(count);
    for (let i = 0; i < count; i++) {
      if (i >= named) names[i] = this.#nextName++;
      else if (group > 1) names[i] = this.#name(ids[(i + 1) * group - 1]!, part);
      else names[i] = this.#name(ids[Math.floor(i / split)]!, part) + (i % split);
    }
    return names;
  }

  #name(id: number, part: number): number {
    let known = this.#global.has(id) ? this.#shared : this.#parts.get(part);
    if (known === undefined) {
      known = new Map();
      this.#parts.set(part, known);
    }
    let name = known.get(id);
    if (name === undefined) {
      name = this.#nextName;
      this.#nextName += this.#grain.split;
      known.set(id, name);
    }
    return name;
  }
}

/** A session of a copy, and which of its requests came last. */
class Sessions {
  readonly #rows: readonly TraceRow[];
  readonly #numbers = new Map<string, number>();
  readonly #last = new Map<number, { id: number; row: number }>();

  constructor(rows: readonly TraceRow[]) {
    this.#rows = rows;
  }

  number(session: number, part: number): number {
    const key = `${part}/${session}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#numbers.set(key, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  /** What the row waits for, and how long after it the row comes; nothing for parallel requests. */
  before(row: number, part: number, id: number): RoutingRequest['after'] {
    const { session, atMs } = this.#rows[row]!;
    if (session < 0) return undefined;
    const number = this.number(session, part);
    const last = this.#last.get(number);
    this.#last.set(number, { id, row });
    if (last === undefined) return undefined;
    const { atMs: lastMs, outputTokens } = this.#rows[last.row]!;
    const thinkMs = atMs - lastMs - outputTokens * defaultEngineParameters.stepBaseMs;
    return thinkMs < 0 ? undefined : { id: last.id, thinkMs };
  }
}
