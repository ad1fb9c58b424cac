import { expect, test } from 'vitest';
import { RequestRegistry } from './request-registry.ts';

test('streams of one request share one entry, which ends with the last of them', () => {
  const registry = new RequestRegistry();
  const entry = registry.add('ns/pool', 'id', 7, '10.0.0.1:80');
  expect(registry.join('ns/pool', 'id')).toBe(entry);
  expect(registry.leave(entry)).toBe(false);
  expect(registry.leave(entry)).toBe(true);
  expect(registry.size).toBe(0);
  expect(registry.join('ns/pool', 'id')).toBeUndefined();
});

test('another pool, another id and no id are requests of their own', () => {
  const registry = new RequestRegistry();
  registry.add('ns/pool', 'id', 1, 'a');
  registry.add('ns/pool', '', 2, 'b');
  expect(registry.join('ns/other', 'id')).toBeUndefined();
  expect(registry.join('ns/pool', 'other')).toBeUndefined();
  expect(registry.join('ns/pool', '')).toBeUndefined();
});

test('an id that comes again after the response began is another request', () => {
  const registry = new RequestRegistry();
  const first = registry.add('ns/pool', 'id', 1, 'a');
  registry.respond(first);
  expect(registry.join('ns/pool', 'id')).toBeUndefined();
  const second = registry.add('ns/pool', 'id', 2, 'b');
  expect(registry.leave(second)).toBe(true);
  expect(registry.leave(first)).toBe(true);
  expect(registry.size).toBe(0);
});

test('a constant id cannot hide load: only so many streams join', () => {
  const registry = new RequestRegistry();
  registry.add('ns/pool', 'id', 1, 'a');
  let joined = 0;
  while (registry.join('ns/pool', 'id') !== undefined) joined++;
  expect(joined).toBeLessThan(10);
});
