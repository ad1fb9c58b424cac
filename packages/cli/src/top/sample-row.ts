/** Made-up endpoints for the tests of `top`. */
import type { EndpointRow, Fleet } from './fleet.ts';

export function sampleRow(row: Partial<EndpointRow> = {}): EndpointRow {
  return {
    pool: 'serving/chat',
    destination: '10.0.0.1:8000',
    name: 'engine-0',
    namespace: 'serving',
    node: 'node-a',
    engine: 'vllm',
    models: ['tiny'],
    state: 'fresh',
    reason: 'ok',
    ageMs: 40,
    running: 3,
    waiting: 0,
    kvUsage: 0.25,
    inFlight: 3,
    picks: 90,
    picksPerS: 1.5,
    ...row,
  };
}

export function sampleFleet(endpoints: readonly EndpointRow[]): Fleet {
  const fresh = endpoints.filter(({ state }) => state === 'fresh').length;
  return {
    sources: [{ url: '127.0.0.1:9090', text: 'ready', ok: true }],
    pools: [
      {
        pool: 'serving/chat',
        endpoints: endpoints.length,
        fresh,
        running: 3,
        waiting: 0,
        inFlight: 3,
        picksPerS: 1.5,
        reasons: ['1 of 9: not ready'],
      },
    ],
    endpoints,
  };
}
