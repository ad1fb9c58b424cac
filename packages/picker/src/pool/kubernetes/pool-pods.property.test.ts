import type { PoolSpec } from '@leadsman/kube';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type PodFacts, podStates } from './pod-facts.ts';
import { PoolPods } from './pool-pods.ts';

const spec: PoolSpec = {
  uid: 'pool',
  namespace: 'n',
  name: 'p',
  selector: [['app', 'llm']],
  ports: [8000, 8001],
  appProtocol: 'http',
  service: 's',
  inferenceClass: undefined,
  faults: [],
};

const facts: fc.Arbitrary<PodFacts> = fc.record({
  uid: fc.constantFrom('a', 'b', 'c', 'd'),
  podKey: fc.constant('key'),
  namespace: fc.constant('n'),
  name: fc.constant('name'),
  labels: fc.constantFrom({ app: 'llm' }, { app: 'llm', x: 'y' }, { app: 'other' }),
  address: fc.constantFrom('10.0.0.1', '10.0.0.2'),
  state: fc.constantFrom(...podStates.filter((state) => state !== 'port_mismatch')),
  detail: fc.constantFrom('', 'why'),
  ports: fc.constantFrom(undefined, [8000], [9999]),
  createdAt: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'),
});
const events = fc.array(fc.oneof(facts, fc.constantFrom('a', 'b', 'c', 'd')), { maxLength: 40 });

function play(history: readonly (PodFacts | string)[]): {
  pool: PoolPods;
  newest: Map<string, PodFacts>;
} {
  const pool = new PoolPods(spec);
  const newest = new Map<string, PodFacts>();
  for (const event of history) {
    if (typeof event === 'string') {
      pool.remove(event);
      newest.delete(event);
    } else {
      pool.put(event);
      newest.set(event.uid, event);
    }
  }
  return { pool, newest };
}

/** Found by chance: a pod whose declared ports change. Kubernetes forbids it, its types do not. */
const ready: PodFacts = {
  uid: 'a',
  podKey: 'key',
  namespace: 'n',
  name: 'name',
  labels: { app: 'llm' },
  address: '10.0.0.1',
  state: 'ready',
  detail: '',
  ports: undefined,
  createdAt: '2026-01-01T00:00:00Z',
};
const portsChanged: PodFacts[] = [ready, { ...ready, ports: [9999] }];

it('knows after any history what the last word on each pod alone would say', () => {
  fc.assert(
    fc.property(events, (history) => {
      const { pool, newest } = play(history);
      const selected = [...newest.values()].filter((pod) => pod.labels.app === 'llm');
      const states = pool.states();
      expect(Object.values(states).reduce((sum, count) => sum + count, 0)).toBe(selected.length);
      const servable = selected.filter(
        (pod) => pod.state === 'ready' && (pod.ports === undefined || pod.ports.includes(8000)),
      );
      expect(states.ready).toBe(servable.length);
      // Each address once, with every port, however many pods claim it.
      const addresses = new Set(servable.map((pod) => pod.address));
      const destinations = pool.members().map(({ address, port }) => `${address}:${port}`);
      expect(new Set(destinations).size).toBe(destinations.length);
      expect(destinations.length).toBe(addresses.size * spec.ports.length);
    }),
    { examples: [[portsChanged]], numRuns: 1_000 },
  );
});

it('says that nothing changed only when nothing did', () => {
  fc.assert(
    fc.property(events, facts, (history, next) => {
      const { pool } = play(history);
      const before = JSON.stringify([pool.members(), pool.reasons()]);
      const changed = pool.put(next);
      if (!changed) expect(JSON.stringify([pool.members(), pool.reasons()])).toBe(before);
    }),
    { numRuns: 1_000 },
  );
});
