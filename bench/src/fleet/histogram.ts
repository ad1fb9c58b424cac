/** Durations in steps of 0.1 ms up to 20 s: constant memory, however many there are. */

const stepMs = 0.1;
const steps = 200_000;

export class DurationHistogram {
  count = 0;
  maxMs = 0;
  readonly #counts = new Uint32Array(steps + 1);

  add(ms: number): void {
    this.count++;
    this.maxMs = Math.max(this.maxMs, ms);
    const step = Math.min(steps, Math.max(0, Math.floor(ms / stepMs)));
    this.#counts[step] = (this.#counts[step] as number) + 1;
  }

  /** The duration below which the given share (0..1) lies, ms; NaN when there are none. */
  quantileMs(share: number): number {
    if (this.count === 0) return Number.NaN;
    let left = share * this.count;
    for (let step = 0; step <= steps; step++) {
      left -= this.#counts[step] as number;
      if (left <= 0) return Number(((step + 1) * stepMs).toFixed(1));
    }
    return this.maxMs;
  }

  clear(): void {
    this.count = 0;
    this.maxMs = 0;
    this.#counts.fill(0);
  }
}
