/**
 * Random numbers from a seed, for tests and benchmarks that must repeat exactly. The generator is
 * sfc32 (Chris Doty-Humphrey, PractRand): small, fast, period at least 2^32.
 */
export class SeededRandom {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = 0x9e3779b9 ^ Math.floor(seed / 0x1_0000_0000);
    this.#c = 0x243f6a88;
    // The first outputs of close seeds resemble each other.
    for (let i = 0; i < 16; i++) this.next();
  }

  /** Uniform in [0, 1). */
  readonly next = (): number => {
    const sum = (((this.#a + this.#b) | 0) + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return (sum >>> 0) / 0x1_0000_0000;
  };

  /** Uniform in 0 … below − 1. */
  integer(below: number): number {
    return Math.floor(this.next() * below);
  }

  exponential(mean: number): number {
    return -mean * Math.log1p(-this.next());
  }

  /** Standard normal (Box–Muller). */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log1p(-this.next()));
    return radius * Math.cos(2 * Math.PI * this.next());
  }

  /** Log-normal with the given median and sigma (of the logarithm). */
  logNormal(median: number, sigma: number): number {
    return median * Math.exp(sigma * this.normal());
  }

  /** A generator of its own, so that drawing more here does not shift what another draws. */
  fork(): SeededRandom {
    return new SeededRandom(Math.floor(this.next() * 0x1_0000_0000));
  }
}
