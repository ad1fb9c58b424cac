import { expect, it } from 'vitest';
import { nodeOptionsFor } from './node-options.ts';

const gib = 2 ** 30;
const heapMb = (options: readonly string[]) =>
  Number(/--max-old-space-size=(\d+)/.exec(options.join(' '))?.[1]);

it('gives all heaps together half of the limit', () => {
  for (const workers of [1, 2, 4]) {
    const { worker, collector } = nodeOptionsFor(2 * gib, workers);
    expect(heapMb(worker) * workers + heapMb(collector)).toBeLessThanOrEqual(1_024);
    expect(heapMb(worker)).toBeGreaterThanOrEqual(190);
  }
});

it('bounds a heap without a limit, and leaves one that works with a tiny one', () => {
  expect(heapMb(nodeOptionsFor(0, 2).worker)).toBe(1_024);
  expect(heapMb(nodeOptionsFor(2 ** 63, 2).worker)).toBe(1_024);
  expect(heapMb(nodeOptionsFor(gib / 8, 16).worker)).toBe(64);
});
