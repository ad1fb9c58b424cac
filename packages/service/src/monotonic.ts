/**
 * One clock for ages: the machine's CLOCK_MONOTONIC in milliseconds, the same value in every
 * thread and every process of the machine.
 *
 * `performance.now()` counts from its own thread's start and `process.hrtime.bigint()` allocates;
 * so the difference between the two is taken once per thread. Both run on the same kernel clock,
 * hence it never drifts.
 */
const [seconds, nanoseconds] = process.hrtime();
const offsetMs = seconds * 1_000 + nanoseconds / 1e6 - performance.now();

/** Milliseconds of CLOCK_MONOTONIC, with fractions. Never goes back, knows no date. */
export function monotonicMs(): number {
  return performance.now() + offsetMs;
}
