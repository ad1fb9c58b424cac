import { expect, it } from 'vitest';
import { fleetOf } from './fleet.ts';

const source = { url: 'a', text: 'ready', ok: true };
const endpoint = (extra: object = {}) => ({
  pool: 'ns/p',
  destination: '10.0.0.1:8000',
  podName: 'a',
  namespace: 'ns',
  state: 'fresh',
  reason: 'ok',
  ageMs: 40,
  runningRequests: 2,
  waitingRequests: null,
  inFlight: 3,
  picks: 100,
  ...extra,
});

it('adds up what replicas sent, and takes the freshest numbers', () => {
  const one = { endpoints: [endpoint()], pools: [{ pool: 'ns/p', reasons: [] }] };
  const two = { endpoints: [endpoint({ ageMs: 10, runningRequests: 5, picks: 7 })], pools: [] };
  const { endpoints, pools } = fleetOf([source, source], [one, two]);
  expect(endpoints).toMatchObject([{ running: 5, ageMs: 10, inFlight: 6, picks: 107 }]);
  expect(pools).toMatchObject([{ pool: 'ns/p', endpoints: 1, fresh: 1, running: 5, inFlight: 6 }]);
});

it('keeps unknown apart from 0, in rows and sums', () => {
  const json = { endpoints: [endpoint(), endpoint({ destination: '10.0.0.2:8000' })], pools: [] };
  const { endpoints, pools } = fleetOf([source], [json]);
  expect(endpoints[0]).toMatchObject({ waiting: null, kvUsage: null, picksPerS: null });
  expect(pools[0]).toMatchObject({ running: 4, waiting: null, picksPerS: null });
});

it('computes picks per second from two looks, and nothing from a counter that fell', () => {
  const at = (picks: number) => [{ endpoints: [endpoint({ picks })], pools: [] }];
  const before = fleetOf([source], at(100));
  expect(fleetOf([source], at(150), before, 2_000).endpoints[0]?.picksPerS).toBe(25);
  expect(fleetOf([source], at(3), before, 2_000).endpoints[0]?.picksPerS).toBeNull();
  expect(fleetOf([source], at(100), before, 2_000).pools[0]?.picksPerS).toBe(0);
});

it('keeps a pool without endpoints, and why it has none', () => {
  const pools = [{ pool: 'ns/empty', reasons: ['2 of 2: not ready'] }];
  expect(fleetOf([source], [{ endpoints: [], pools }]).pools).toMatchObject([
    { pool: 'ns/empty', endpoints: 0, running: null, reasons: ['2 of 2: not ready'] },
  ]);
});

it('tells the ports of one pod apart, and shows a collector that knows no pools', () => {
  const rank = (port: number) => ({
    ...endpoint({ destination: `10.0.0.1:${port}` }),
    pool: undefined,
    inFlight: undefined,
    picks: undefined,
  });
  const json = { endpoints: [rank(8000), rank(8001)], pools: undefined };
  const { endpoints, pools } = fleetOf([source], [json]);
  expect(endpoints.map(({ name }) => name)).toEqual(['a:8000', 'a:8001']);
  expect(pools).toMatchObject([{ pool: '', endpoints: 2, inFlight: null }]);
});

it('lets no name write to the terminal', () => {
  const json = { endpoints: [endpoint({ podName: 'a\x1b[2Jb\u009b1m' })], pools: [] };
  expect(fleetOf([source], [json]).endpoints[0]?.name).toBe('a[2Jb1m');
});
