import { expect, test } from 'vitest';
import { defaultHeldBytesMax, heldBytesMaxFor } from './server.ts';

const gib = 2 ** 30;

test('all workers together hold less than half of the container’s memory', () => {
  for (const workers of [1, 2, 4, 8]) {
    // Messages that are under way may use half as much again.
    expect(heldBytesMaxFor(2 * gib, workers) * 1.5 * workers).toBeLessThan(gib);
  }
});

test('without a limit, and with a tiny one, there is a bound that works', () => {
  expect(heldBytesMaxFor(0, 2)).toBe(defaultHeldBytesMax);
  expect(heldBytesMaxFor(2 ** 63, 2)).toBe(defaultHeldBytesMax);
  expect(heldBytesMaxFor(gib / 8, 16)).toBe(16 * 1_048_576);
});
