import type { Member } from '@leadsman/scheduling/endpoint';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EndpointIndex, indexRestMs } from './endpoint-index.ts';

function member(name: string, port = 8000): Member {
  return {
    podKey: name,
    address: '10.0.0.1',
    port,
    rank: 0,
    podName: name,
    namespace: 'test',
    labels: {},
  };
}

describe('EndpointIndex', () => {
  it('keeps a position while the endpoint stays, whatever its order', () => {
    const index = new EndpointIndex(8, () => 0);
    const [a, b] = index.assign('pool', [member('a'), member('b')], 0);
    const [b2, a2] = index.assign('pool', [member('b'), member('a')], 1);
    expect(a2?.index).toBe(a?.index);
    expect(b2?.index).toBe(b?.index);
    expect(a?.destination).toBe('10.0.0.1:8000');
  });

  it('gives a pod of two pools one position, and each port its own', () => {
    const index = new EndpointIndex(8, () => 0);
    const [a] = index.assign('one', [member('a')], 0);
    const [same, other] = index.assign('two', [member('a'), member('a', 8001)], 0);
    expect(same?.index).toBe(a?.index);
    expect(other?.index).not.toBe(a?.index);
    index.removePool('one', 0);
    expect(index.assign('two', [member('a')], indexRestMs * 2)[0]?.index).toBe(a?.index);
  });

  it('reuses a position only after its requests ended and it has rested', () => {
    let inFlight = 1;
    const index = new EndpointIndex(1, () => inFlight);
    index.assign('pool', [member('a')], 0);
    index.assign('pool', [], 0);
    expect(index.assign('pool', [member('b')], indexRestMs)).toEqual([]);
    expect(index.dropped).toBe(1);
    inFlight = 0;
    expect(index.assign('pool', [member('b')], indexRestMs - 1)).toEqual([]);
    expect(index.assign('pool', [member('b')], indexRestMs)[0]?.index).toBe(0);
    expect(index.used).toBe(1);
  });

  it('never gives one position to two endpoints that are in use', () => {
    const step = fc.record({
      pool: fc.constantFrom('one', 'two'),
      names: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 5 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const index = new EndpointIndex(4, () => 0);
        const current = new Map<string, Map<string, number>>();
        for (const [i, { pool, names }] of steps.entries()) {
          const members = names.map((name) => member(name));
          const list = index.assign(pool, members, i * indexRestMs);
          current.set(pool, new Map(list.map((endpoint) => [endpoint.podKey, endpoint.index])));
          const owner = new Map<number, string>();
          for (const positions of current.values()) {
            for (const [name, position] of positions) {
              expect(owner.get(position) ?? name).toBe(name);
              owner.set(position, name);
            }
          }
        }
      }),
    );
  });
});
