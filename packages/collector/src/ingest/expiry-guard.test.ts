import { expect, test } from 'vitest';
import { ExpiryGuard } from './expiry-guard.ts';

/** Of ticks at `fromMs`, `fromMs + stepMs`, … the first that may expire. */
function firstAllowed(guard: ExpiryGuard, fromMs: number, stepMs = 100): number {
  for (let nowMs = fromMs; nowMs < fromMs + 600_000; nowMs += stepMs) {
    if (guard.mayExpire(nowMs, true)) return nowMs;
  }
  return Number.POSITIVE_INFINITY;
}

test('expiry runs while the feed is whole, and not within its time after the feed came back', () => {
  const guard = new ExpiryGuard(10_000);
  expect(guard.mayExpire(0, true)).toBe(true);
  expect(guard.mayExpire(100, false)).toBe(false);
  expect(firstAllowed(guard, 5_000)).toBe(15_000);
});

test('a stall puts expiry off by its own length, within two keyframes and the expiry time', () => {
  for (const [stalledMs, graceMs] of [
    [400, 2_000],
    [6_000, 6_000],
    [60_000, 10_000],
  ] as const) {
    const guard = new ExpiryGuard(10_000);
    guard.mayExpire(0, true);
    guard.stalled(100_000, stalledMs);
    expect(firstAllowed(guard, 100_000)).toBe(100_000 + graceMs);
  }
});

test('a stall right after the feed came back shortens nothing', () => {
  const guard = new ExpiryGuard(10_000);
  guard.mayExpire(0, false);
  guard.mayExpire(1_000, true);
  guard.stalled(1_500, 400);
  expect(firstAllowed(guard, 1_500)).toBe(11_000);
});

test('a machine that stalls for ever still lets the dead go', () => {
  const guard = new ExpiryGuard(10_000);
  let lastMs = 0;
  let longestMs = 0;
  for (let nowMs = 0; nowMs < 120_000; nowMs += 600) {
    guard.stalled(nowMs, 500);
    if (!guard.mayExpire(nowMs, true)) continue;
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }
  expect(lastMs).toBeGreaterThan(100_000);
  expect(longestMs).toBeLessThan(11_000);
});

test('long stalls, one after the other, never expire anyone before the sockets were read', () => {
  const guard = new ExpiryGuard(10_000);
  for (let nowMs = 12_000; nowMs < 200_000; nowMs += 12_000) {
    guard.stalled(nowMs, 11_900);
    expect(guard.mayExpire(nowMs, true)).toBe(false);
  }
});
