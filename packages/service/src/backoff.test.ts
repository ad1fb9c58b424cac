import { expect, it } from 'vitest';
import { Backoff, pause } from './backoff.ts';

it('doubles up to its cap, with jitter below, and begins anew after a success', () => {
  const low = new Backoff({ firstMs: 100, maxMs: 1_000, random: () => 0 });
  const high = new Backoff({ firstMs: 100, maxMs: 1_000, random: () => 0.999999 });
  expect(Array.from({ length: 6 }, () => low.next())).toEqual([50, 100, 200, 400, 500, 500]);
  expect(Array.from({ length: 6 }, () => Math.round(high.next()))).toEqual([
    100, 200, 400, 800, 1_000, 1_000,
  ]);
  low.reset();
  expect(low.next()).toBe(50);
});

it('never waits less than the floor, and stays finite after any number of failures', () => {
  const backoff = new Backoff({ firstMs: 10, maxMs: 100, random: () => 0 });
  expect(backoff.next(1_000)).toBe(1_000);
  for (let i = 0; i < 10_000; i++) backoff.next();
  expect(backoff.next()).toBe(50);
});

it('pauses for its time, and not at all once it is to end', async () => {
  await pause(1);
  const stopping = new AbortController();
  const paused = pause(3_600_000, stopping.signal);
  stopping.abort();
  await paused;
  await pause(3_600_000, stopping.signal);
});
