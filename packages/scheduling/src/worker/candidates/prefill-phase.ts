/**
 * When requests leave their prefill phase that do not say so. The first token of a stream is seen;
 * an answer that comes whole is seen at its end, and until then its prompt would count as waiting
 * work for many times as long as it was (ten such prompts outweigh two hundred streams).
 *
 *   due = pick + prompt tokens that waited at the endpoint, its own included × time per token
 *
 * The time per token is learned from the streams of the same pool. It is an average over queueing,
 * batching and speed, which is good enough to end a phase and too rough to compare endpoints by.
 *
 * Cost: a streamed request writes two numbers at its pick and reads them at its first token; the
 * others go through a binary heap, some ten steps each. Memory: 12 B per ticket, 16 B per request
 * that waits for its estimate.
 */

/** What large models on today's accelerators compute; replaced by what is seen within seconds. */
const msPerTokenDefault = 1_000 / 15_000;
const msPerTokenMin = 0.001;
const msPerTokenMax = 10;
/** Below so many tokens the fixed costs of a request hide the time per token. */
const sampleTokensMin = 256;
/** Weight of the newest sample: some 50 requests are remembered. */
const sampleWeight = 0.02;
/** No estimate is longer, ms: what takes more is not prefill. */
const phaseMsMax = 120_000;
/** Requests that wait for their estimates at once; one more leaves its phase at once. */
const waitingMax = 262_144;

/** How long prompt tokens take in one pool, from pick to first token. */
export class PrefillRate {
  #tokens = 0;
  #ms = 0;

  /** Milliseconds per prompt token that waits or is computed. */
  get msPerToken(): number {
    if (this.#tokens === 0) return msPerTokenDefault;
    return Math.min(msPerTokenMax, Math.max(msPerTokenMin, this.#ms / this.#tokens));
  }

  /** A stream's first token came `ms` after its pick, behind and with `tokens` of prompts. */
  learn(tokens: number, ms: number): void {
    if (tokens < sampleTokensMin || !(ms >= 0)) return;
    this.#tokens += sampleWeight * (tokens - this.#tokens);
    this.#ms += sampleWeight * (ms - this.#ms);
  }
}

/** The requests of one worker whose first token is estimated, by the time it is due. */
export class PrefillDeadlines {
  /** A heap: the earliest is at 0. */
  readonly #dueMs: number[] = [];
  readonly #tickets: number[] = [];

  get waiting(): number {
    return this.#tickets.length;
  }

  /** False, and nothing kept, when too many wait. */
  add(ticket: number, nowMs: number, tokens: number, msPerToken: number): boolean {
    if (this.#tickets.length >= waitingMax) return false;
    const dueMs = nowMs + Math.min(phaseMsMax, tokens * msPerToken);
    let at = this.#tickets.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#dueMs[parent]! <= dueMs) break;
      this.#put(at, this.#dueMs[parent]!, this.#tickets[parent]!);
      at = parent;
    }
    this.#put(at, dueMs, ticket);
    return true;
  }

  /** The next ticket that is due at `nowMs`, taken out; -1 when none is. It may have ended since. */
  take(nowMs: number): number {
    if (this.#tickets.length === 0 || this.#dueMs[0]! > nowMs) return -1;
    const ticket = this.#tickets[0]!;
    const dueMs = this.#dueMs.pop()!;
    const last = this.#tickets.pop()!;
    const count = this.#tickets.length;
    if (count === 0) return ticket;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      if (child + 1 < count && this.#dueMs[child + 1]! < this.#dueMs[child]!) child++;
      if (this.#dueMs[child]! >= dueMs) break;
      this.#put(at, this.#dueMs[child]!, this.#tickets[child]!);
      at = child;
    }
    this.#put(at, dueMs, last);
    return ticket;
  }

  #put(at: number, dueMs: number, ticket: number): void {
    this.#dueMs[at] = dueMs;
    this.#tickets[at] = ticket;
  }
}
