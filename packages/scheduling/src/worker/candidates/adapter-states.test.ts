import type { Attributes } from '@leadsman/wire';
import { describe, expect, it } from 'vitest';
import { createRig, endpointsOf, tally } from '../../fixture/scheduler-rig.ts';
import { AdapterStates, adapterState } from './adapter-states.ts';

function attributes(running: string[] | undefined, waiting: string[] = []): Attributes {
  return { models: ['base'], loraRunning: running, loraWaiting: waiting } as unknown as Attributes;
}

describe('what is known of adapters', () => {
  it('an adapter that vanishes from the list is still remembered: idle is not unloaded', () => {
    const states = new AdapterStates();
    states.rebuild(2, (at) => attributes(at === 0 ? ['a'] : []), 0);
    expect(states.stateOf('a', 0, 0)).toBe(adapterState.running);
    expect(states.stateOf('a', 1, 0)).toBe(adapterState.notSeen);
    states.rebuild(2, () => attributes([]), 1_000);
    expect(states.stateOf('a', 0, 1_000)).toBe(adapterState.seen);
    expect(states.stateOf('a', 0, 3_600_000)).toBe(adapterState.notSeen);
  });

  it('tells an engine without adapters from one that says nothing', () => {
    const states = new AdapterStates();
    states.rebuild(2, (at) => attributes(at === 0 ? [] : undefined, []), 0);
    expect([...states.active]).toEqual([0, 0]);
    states.rebuild(1, () => undefined, 0);
    expect([...states.active]).toEqual([-1]);
  });

  it('remembers across a change of membership', () => {
    const states = new AdapterStates();
    states.rebuild(2, () => attributes([]), 0);
    states.markSent('a', 1, 0);
    states.carryOver([1, -1]);
    expect(states.stateOf('a', 0, 1)).toBe(adapterState.seen);
    expect(states.stateOf('a', 1, 1)).toBe(adapterState.notSeen);
  });

  it('is bounded, and counts what finds no room', () => {
    const states = new AdapterStates();
    states.carryOver(Array.from({ length: 1_024 }, () => -1));
    for (let i = 0; i < 2_000; i++) states.markSent(`adapter-${i}`, 0, 0);
    expect(states.dropped).toBe(2_000 - 1_024);
  });
});

describe.each(['lora-affinity', 'expected-work'])(
  'requests for an adapter under %s',
  (strategy) => {
    it('go where it runs, or was sent before, until that endpoint is clearly busier', async () => {
      const endpoints = endpointsOf(3);
      const nowMs = 10_000;
      const rig = await createRig({
        config: `default: { strategy: ${strategy} }`,
        endpoints,
        nowMs,
      });
      for (const [at, endpoint] of endpoints.entries()) {
        const numbers = { runningRequests: 1, waitingRequests: 0, kvCacheUsageRatio: 0.2 };
        rig.gauges.report(endpoint, { measuredAtMs: nowMs, loraSlotsMax: 2, ...numbers });
        rig.gauges.describe(endpoint, attributes(at === 1 ? ['a'] : ['x', 'y']));
      }
      const few = Array.from({ length: 3 }, () => {
        const pick = rig.pick({ nowMs, model: 'a', promptTokens: 50 });
        rig.scheduler.release(pick.ticket, { outputTokens: 1, aborted: false });
        return pick;
      });
      expect(tally(few)).toEqual(new Map([[endpoints[1]!.destination, 3]]));
    });
  },
);
