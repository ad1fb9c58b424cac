import { expect, it } from 'vitest';
import type { EndpointRow } from './fleet.ts';
import { ordered, sortKeys, type View } from './order.ts';
import { sampleRow } from './sample-row.ts';

const rows: EndpointRow[] = [
  sampleRow({ name: 'pod-10', state: 'fresh', waiting: 1, ageMs: 5 }),
  sampleRow({ name: 'pod-9', state: 'stale', waiting: null, ageMs: 9_000, reason: 'timeout' }),
  sampleRow({ name: 'pod-2', state: 'unknown', waiting: null, ageMs: null }),
  sampleRow({ name: 'pod-1', state: 'fresh', waiting: 7, ageMs: 50 }),
];
const names = (view: Partial<View>) =>
  ordered(rows, { sort: 'trouble', reverse: false, filter: '', ...view }).map(({ name }) => name);

it('begins with what needs an operator, then with what waits', () => {
  expect(names({})).toEqual(['pod-2', 'pod-9', 'pod-1', 'pod-10']);
});

it('sorts names as people count', () => {
  expect(names({ sort: 'name' })).toEqual(['pod-1', 'pod-2', 'pod-9', 'pod-10']);
});

it('puts what is unknown last in either direction', () => {
  expect(names({ sort: 'waiting' })).toEqual(['pod-1', 'pod-10', 'pod-2', 'pod-9']);
  expect(names({ sort: 'waiting', reverse: true })).toEqual(['pod-10', 'pod-1', 'pod-2', 'pod-9']);
  expect(names({ sort: 'age' })).toEqual(['pod-9', 'pod-1', 'pod-10', 'pod-2']);
});

it('knows an order for each of its keys', () => {
  for (const sort of sortKeys) expect(new Set(names({ sort })).size, sort).toBe(4);
});

it('filters by all words, and by words that must not be there', () => {
  expect(names({ filter: 'STALE timeout' })).toEqual(['pod-9']);
  expect(names({ filter: '!fresh' })).toEqual(['pod-2', 'pod-9']);
  expect(names({ filter: 'pod !pod-1 ! ' })).toEqual(['pod-2', 'pod-9']);
});
