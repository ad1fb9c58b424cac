/**
 * Attributes that came before the first report of their endpoint: a keyframe may be split between
 * the two. Kept until the report comes, at most `max` of them and {@link earlyMs} long.
 */

/** Two keyframes: by then the sender has repeated them. */
const earlyMs = 2_500;

export class EarlyAttributes {
  readonly #max: number;
  /** In the order of arrival. */
  readonly #byTarget = new Map<string, { record: Uint8Array; atMs: number }>();

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#byTarget.size;
  }

  /** Keeps a copy of `record`. */
  keep(target: string, record: Uint8Array, nowMs: number): void {
    this.#byTarget.delete(target);
    this.#byTarget.set(target, { record: record.slice(), atMs: nowMs });
    if (this.#byTarget.size <= this.#max) return;
    const oldest = this.#byTarget.keys().next();
    if (oldest.done === false) this.#byTarget.delete(oldest.value);
  }

  take(target: string): Uint8Array | undefined {
    if (this.#byTarget.size === 0) return undefined;
    const kept = this.#byTarget.get(target);
    this.#byTarget.delete(target);
    return kept?.record;
  }

  expire(nowMs: number): void {
    for (const [target, { atMs }] of this.#byTarget) {
      if (nowMs - atMs <= earlyMs) return;
      this.#byTarget.delete(target);
    }
  }
}
