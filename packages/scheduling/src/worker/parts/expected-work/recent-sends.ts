/**
 * Uncached prompt tokens that this worker sent to each endpoint within the last moments: what the
 * other replicas have probably done too and not told yet.
 *
 * A ring of single sends with a sum per endpoint; a full ring forgets its oldest send early.
 * Cost: amortised O(1) per send; 48 KB and 8 B per endpoint.
 */
const sendsMax = 2048;

export class RecentSends {
  readonly #atMs = new Float64Array(sendsMax);
  readonly #endpoint = new Int32Array(sendsMax);
  readonly #tokens = new Float64Array(sendsMax);
  #sums = new Float64Array(64);
  #sends = new Int32Array(64);
  #first = 0;
  #count = 0;

  /** Notes a send; `index` is an in-flight index. */
  add(index: number, tokens: number, nowMs: number): void {
    if (index >= this.#sums.length) {
      const grown = new Float64Array(Math.max(index + 1, this.#sums.length * 2));
      grown.set(this.#sums);
      this.#sums = grown;
      const sends = new Int32Array(grown.length);
      sends.set(this.#sends);
      this.#sends = sends;
    }
    if (this.#count === sendsMax) this.#dropOldest();
    const at = (this.#first + this.#count) % sendsMax;
    this.#atMs[at] = nowMs;
    this.#endpoint[at] = index;
    this.#tokens[at] = tokens;
    this.#sums[index]! += tokens;
    this.#sends[index]! += 1;
    this.#count++;
  }

  /** Forgets what was sent at or before `untilMs`. */
  expire(untilMs: number): void {
    while (this.#count > 0 && this.#atMs[this.#first]! <= untilMs) this.#dropOldest();
  }

  /** Tokens sent to an endpoint and not expired. */
  tokens(index: number): number {
    return index < this.#sums.length ? this.#sums[index]! : 0;
  }

  /** Requests sent to an endpoint and not expired. */
  sends(index: number): number {
    return index < this.#sends.length ? this.#sends[index]! : 0;
  }

  #dropOldest(): void {
    const index = this.#endpoint[this.#first]!;
    this.#sums[index]! -= this.#tokens[this.#first]!;
    this.#sends[index]! -= 1;
    this.#first = (this.#first + 1) % sendsMax;
    this.#count--;
  }
}
