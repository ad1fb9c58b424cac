import { expect, it } from 'vitest';
import { breachOf, cellsOf, faults, type Outcome, parts } from './cell.ts';

const sound: Outcome = {
  ...{ part: 'sidecar', fault: 'SIGKILL', requests: 500, failed: 0, failedUnderWay: 0 },
  ...{
    heldByEngine: 0,
    slow: 0,
    slowestMs: 90,
    oldestMs: 2_000,
    oldestFreshMs: 1_900,
    wholeMs: 300,
  },
  failures: {},
};

it('has every part with every fault, and takes filters', () => {
  expect(cellsOf([])).toHaveLength((parts.length - 1) * faults.length + 1);
  expect(cellsOf(['nats'])).toHaveLength(3);
  expect(cellsOf(['nats:SIGSTOP', 'worker:SIGKILL'])).toEqual([
    { part: 'nats', fault: 'SIGSTOP' },
    { part: 'worker', fault: 'SIGKILL' },
  ]);
  expect(() => cellsOf(['broker'])).toThrow('broker');
});

it.each<[string, Partial<Outcome>, boolean]>([
  ['none failed', {}, true],
  ['one failed that no dead part explains', { failed: 1 }, false],
  ['100 ms of picks of a worker', { part: 'worker', failed: 10 }, true],
  ['more than 100 ms of picks', { part: 'worker', failed: 11 }, false],
  ['an orderly end of a picker', { part: 'picker', fault: 'SIGTERM', failed: 1 }, false],
  [
    'what an engine held',
    { part: 'engine', failed: 22, failedUnderWay: 12, heldByEngine: 12 },
    true,
  ],
  ['sent after it', { part: 'engine', failed: 22, failedUnderWay: 0, heldByEngine: 12 }, false],
  ['never whole', { wholeMs: Number.NaN }, false],
  ['without traffic', { requests: 0 }, false],
])('%s', (_, part, within) => {
  expect(breachOf({ ...sound, ...part }) === undefined).toBe(within);
});
