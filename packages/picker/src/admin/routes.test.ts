import type { FlowControlSnapshot } from '@leadsman/scheduling/shared/messages';
import { createAdmin, createLogger, monotonicMs } from '@leadsman/service';
import { ViewReader } from '@leadsman/view/reader';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SampleFleet } from '../pool/sample-fleet.ts';
import { addPickerRoutes } from './routes.ts';
import { SilentPorts } from './silent-ports.ts';

describe('the routes of the picker', () => {
  const fleet = new SampleFleet();
  let problems: string[] = [];
  let waiting: FlowControlSnapshot | undefined;
  let server: ReturnType<typeof createAdmin>;
  const endpoint = (uid: string, index: number, port: number) => ({
    index,
    podKey: podKeyText(podKeyFromUid(uid)),
    address: '10.0.0.1',
    port,
    rank: 0,
    destination: `10.0.0.1:${port}`,
    podName: uid,
    namespace: 'serving',
    labels: {},
  });

  beforeEach(() => {
    const logger = createLogger({ name: 'test', level: 'silent' });
    server = createAdmin({ registry: new Registry(), logger, ready: () => undefined });
    const silent = new SilentPorts(new ViewReader(fleet.view), logger);
    addPickerRoutes(server, {
      pools: () => [
        {
          pool: 'serving/chat',
          version: 3,
          authorities: ['chat-epp.serving'],
          endpoints: [endpoint('a', 0, 15080), endpoint('b', 1, 8000)],
          reasons: ['pod c is not ready'],
        },
      ],
      membership: () => ({ foreign: { 'serving/other': 'another Service' } }),
      reader: new ViewReader(fleet.view),
      silentPorts: (pool) => silent.of(pool),
      waiting: () => waiting,
      inFlight: (index) => index + 5,
      picks: (index) => index + 50,
      nowMs: monotonicMs,
      staleAfterMs: 60_000,
      reload: async () => problems,
    });
  });
  afterEach(() => server.close());

  it('tell who waits, where flow control is on', async () => {
    const band = { priority: 0, requests: 3, bytes: 900, tokens: 50, oldestMs: 12, outcomes: {} };
    waiting = { isBlind: false, bands: [{ ...band, flows: [{ flow: 'a', requests: 3 }] }] };
    const { pools } = (await server.inject('/v1/pools')).json();
    expect(pools[0].waiting).toEqual(waiting);
    waiting = undefined;
  });

  it('tell pools, and why endpoints are missing', async () => {
    expect((await server.inject('/v1/pools')).json()).toEqual({
      pools: [
        {
          pool: 'serving/chat',
          version: 3,
          authorities: ['chat-epp.serving'],
          endpoints: 2,
          reasons: ['pod c is not ready'],
          neverAnswered: { count: 0, destinations: [] },
        },
      ],
      membership: { foreign: { 'serving/other': 'another Service' } },
    });
  });

  it('tell each endpoint with its numbers; one that has not reported is unknown, not 0', async () => {
    // The metrics port was scraped, the route goes through a proxy's.
    fleet.report({ uid: 'a', port: 7080, waitingRequests: 12, runningRequests: 1 });
    const { endpoints } = (await server.inject('/v1/endpoints')).json();
    expect(endpoints[0]).toMatchObject({
      destination: '10.0.0.1:15080',
      port: 15080,
      podName: 'a',
      state: 'fresh',
      waitingRequests: 12,
      kvCacheUsageRatio: null,
      inFlight: 5,
      picks: 50,
    });
    expect(endpoints[1]).toMatchObject({ podName: 'b', state: 'unknown', inFlight: 6, picks: 51 });
    expect(endpoints[1].waitingRequests).toBeUndefined();
  });

  it('read the strategy file on request, and tell what is wrong with it', async () => {
    const ask = () => server.inject({ method: 'POST', url: '/v1/reload' });
    expect((await ask()).json()).toEqual({ reloaded: true });
    problems = ['line 3: unknown strategy'];
    const reply = await ask();
    expect(reply.statusCode).toBe(422);
    expect(reply.json().problems).toEqual(problems);
  });
});
