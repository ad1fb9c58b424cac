import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Grid, gridOfNode, nearestOnGrid, nextOnGrid } from './grid.ts';

it('is the same for all who know the name of the node, and none without one', () => {
  expect(gridOfNode('gpu-1', 50)).toEqual(gridOfNode('gpu-1', 50));
  expect(gridOfNode('', 50)).toBeUndefined();
});

it('spreads nodes whose names hardly differ over the whole step', () => {
  const tenths = new Set<number>();
  for (let i = 0; i < 100; i++) {
    const grid = gridOfNode(`gpu-node-${i}`, 50);
    tenths.add(Math.floor((grid?.offsetMs ?? Number.NaN) / 5));
  }
  expect([...tenths].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

it('lets pods of a node that scrape at multiples of an interval meet', () => {
  for (const name of ['gpu-1', 'gpu-2', 'gpu-3']) {
    const [narrow, wide] = [gridOfNode(name, 50), gridOfNode(name, 200)];
    for (const atMs of [0, 1e6, 1e9 + 7] as const) {
      const momentMs = nextOnGrid(wide as Grid, atMs);
      expect(nearestOnGrid(narrow as Grid, momentMs)).toBeCloseTo(momentMs, 3);
    }
  }
});

it('has its moments a step apart', () => {
  const step = fc.double({ min: 5, max: 1_000, noNaN: true });
  const share = fc.double({ min: 0, max: 0.999, noNaN: true });
  const time = fc.double({ min: 0, max: 1e9, noNaN: true });
  fc.assert(
    fc.property(step, share, time, (stepMs, part, atMs) => {
      const grid = { stepMs, offsetMs: part * stepMs };
      const slack = 1e-6 * stepMs + 1e-6;
      const nearest = nearestOnGrid(grid, atMs);
      const next = nextOnGrid(grid, atMs);
      expect(Math.abs(nearest - atMs)).toBeLessThanOrEqual(stepMs / 2 + slack);
      expect(next - atMs).toBeGreaterThanOrEqual(-slack);
      expect(next - atMs).toBeLessThan(stepMs + slack);
      expect(Math.abs(nextOnGrid(grid, next - slack) - next)).toBeLessThanOrEqual(slack);
    }),
  );
});
