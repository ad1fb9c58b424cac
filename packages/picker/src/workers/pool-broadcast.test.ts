import type { PoolUpdate } from '@leadsman/scheduling/endpoint';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { broadcastDelayMs, PoolBroadcast } from './pool-broadcast.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const update = (pool: string, version: number): PoolUpdate => ({
  pool,
  version,
  authorities: [],
  objectives: {},
  endpoints: [],
});

const failOnFault = (error: unknown) => {
  throw error;
};

it('tells the newest list of each pool once, and what happened to a pool last', () => {
  const told: { updates: number[]; removed: string[] }[] = [];
  const broadcast = new PoolBroadcast((updates, removed) => {
    told.push({ updates: updates.map(({ version }) => version), removed });
  }, failOnFault);
  broadcast.poolUpdated(update('a', 1));
  broadcast.poolUpdated(update('a', 2));
  broadcast.poolUpdated(update('b', 3));
  broadcast.poolRemoved('b');
  broadcast.poolRemoved('c');
  broadcast.poolUpdated(update('c', 4));
  expect(told).toEqual([]);
  vi.advanceTimersByTime(broadcastDelayMs);
  expect(told).toEqual([{ updates: [2, 4], removed: ['b'] }]);
  vi.advanceTimersByTime(1_000);
  expect(told).toHaveLength(1);
});

it('tells changes again whose telling failed, the newest of each pool', () => {
  const told: number[][] = [];
  const faults: unknown[] = [];
  const broadcast = new PoolBroadcast(
    (updates) => {
      if (faults.length === 0) throw new Error('on purpose');
      told.push(updates.map(({ version }) => version));
    },
    (error) => faults.push(error),
  );
  broadcast.poolUpdated(update('a', 1));
  broadcast.poolUpdated(update('b', 2));
  vi.advanceTimersByTime(broadcastDelayMs);
  expect(faults).toHaveLength(1);
  broadcast.poolUpdated(update('a', 3));
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual([[3, 2]]);
});
