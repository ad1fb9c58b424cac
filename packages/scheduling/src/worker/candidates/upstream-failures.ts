/**
 * Endpoints that a gateway could not reach. Reports come from beside the engine and may go on
 * looking well while the way to it is broken, or while the report that would tell is still to come;
 * what a gateway says of its own connection is known first.
 *
 * An endpoint is out of the first choice until a report of it was measured later than the failure
 * by the hold time: a second, doubled with each failure that follows without a first token in
 * between, so that a pod which only gateways cannot reach costs fewer and fewer requests.
 *
 * Each worker keeps its own, by in-flight index. Cost: two loads per endpoint and refresh.
 */

/** How much later than the failure a report must be measured to count, ms. */
export const failureHoldMs = 1_000;
const failureHoldMsMax = 30_000;
/** Failures this long apart do not follow each other: some gateways show no answers. */
const forgottenAfterMs = 300_000;

export class UpstreamFailures {
  #outUntilMs = new Float64Array(0);
  #holdMs = new Float64Array(0);

  /** A request sent to the endpoint failed in the gateway. */
  failed(index: number, nowMs: number): void {
    if (index >= this.#holdMs.length) this.#grow(index);
    // Requests that were under way when the first one failed say nothing new.
    if (nowMs < this.#outUntilMs[index]!) return;
    if (nowMs - this.#outUntilMs[index]! > forgottenAfterMs) this.#holdMs[index] = 0;
    const hold = Math.min(failureHoldMsMax, Math.max(failureHoldMs, 2 * this.#holdMs[index]!));
    this.#holdMs[index] = hold;
    this.#outUntilMs[index] = nowMs + hold;
  }

  /** The endpoint answered a request: the way to it is whole. */
  answered(index: number): void {
    if (index >= this.#holdMs.length || this.#holdMs[index] === 0) return;
    this.#holdMs[index] = 0;
    this.#outUntilMs[index] = Number.NEGATIVE_INFINITY;
  }

  /** Whether a report measured at `measuredAtMs` is no proof yet that it can be reached. */
  isOut(index: number, measuredAtMs: number): boolean {
    if (index >= this.#holdMs.length || this.#holdMs[index] === 0) return false;
    return !(measuredAtMs >= this.#outUntilMs[index]!);
  }

  #grow(index: number): void {
    const size = 2 ** Math.ceil(Math.log2(index + 1));
    const until = new Float64Array(size).fill(Number.NEGATIVE_INFINITY);
    until.set(this.#outUntilMs);
    this.#outUntilMs = until;
    const holds = new Float64Array(size);
    holds.set(this.#holdMs);
    this.#holdMs = holds;
  }
}
