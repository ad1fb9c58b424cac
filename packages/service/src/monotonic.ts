/**
 * One clock for ages: the machine's CLOCK_MONOTONIC in milliseconds, the same value in every
 * thread and every process of the machine.
 *
 * `performance.now()` counts from its own thread's start and `process.hrtime.bigint()` allocates;
 * so the difference between the two is taken once per thread. Both run on the same kernel clock,
 * hence it never drifts.
 */

/** Readings of both clocks, of which the closest counts. */
const readings = 8;

const offsetMs = measureOffsetMs(() => performance.now(), hrtimeMs);

/** Milliseconds of CLOCK_MONOTONIC, with fractions. Never goes back, knows no date. */
export function monotonicMs(): number {
  return performance.now() + offsetMs;
}

/**
 * What to add to `fromMs` to get `toMs`. A thread may lose its core for milliseconds between two
 * readings: so one clock is read before and after the other, and of several tries the one counts
 * in which least time passed; the error is at most half of that.
 */
export function measureOffsetMs(fromMs: () => number, toMs: () => number): number {
  let offset = Number.NaN;
  let leastMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < readings; i++) {
    const before = fromMs();
    const to = toMs();
    const passedMs = fromMs() - before;
    if (passedMs >= leastMs) continue;
    leastMs = passedMs;
    offset = to - (before + passedMs / 2);
  }
  return offset;
}

function hrtimeMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}
