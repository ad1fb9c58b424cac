import { expect, test } from 'vitest';
import { PoolSelector } from './pool-selector.ts';

const two = [
  { name: 'a/chat', authorities: ['chat-picker.a'] },
  { name: 'b/embed', authorities: ['embed-picker.b'] },
];
function selector(pools = two, byPort = new Map<number, string>()): PoolSelector {
  const made = new PoolSelector(byPort);
  made.setPools(pools);
  return made;
}

test('metadata names the pool, whatever the authority says; an unknown name is an error', () => {
  expect(selector().select('b/embed', 'chat-picker.a.svc:9002', 9002)).toBe('b/embed');
  expect(selector().select('c/none', 'chat-picker.a.svc:9002', 9002)).toBeUndefined();
});

test.each([
  'chat-picker.a.svc.cluster.local:9002',
  'chat-picker.a.svc',
  'Chat-Picker.A:9002',
  'chat-picker.a',
])('%s is the service of a pool', (authority) => {
  expect(selector().select(undefined, authority, 9002)).toBe('a/chat');
});

test('an authority that is no service of ours leaves it to the port, then to the only pool', () => {
  const byPort = selector(two, new Map([[9102, 'b/embed']]));
  expect(byPort.select(undefined, 'outbound_cluster', 9102)).toBe('b/embed');
  expect(byPort.select(undefined, 'chat-picker.a.example.com', 9102)).toBe('b/embed');
  expect(byPort.select(undefined, 'outbound_cluster', 9002)).toBeUndefined();
  expect(selector([two[0]!]).select(undefined, 'outbound_cluster', 9002)).toBe('a/chat');
});

test('an authority that several pools share tells none of them', () => {
  const byPort = new Map([[9102, 'b/embed']]);
  const made = selector(
    [
      { name: 'a/chat', authorities: ['picker.a', 'chat-picker.a'] },
      { name: 'b/embed', authorities: ['picker.a'] },
    ],
    byPort,
  );
  expect(made.select(undefined, 'picker.a.svc:9002', 9002)).toBeUndefined();
  expect(made.select(undefined, 'picker.a.svc:9002', 9102)).toBe('b/embed');
  expect(made.select(undefined, 'chat-picker.a.svc:9002', 9002)).toBe('a/chat');
});

test('pools can be replaced', () => {
  const made = selector();
  made.setPools([two[1]!]);
  expect(made.select(undefined, 'chat-picker.a.svc', 9002)).toBe('b/embed');
  expect(made.select('a/chat', '', 9002)).toBeUndefined();
});
