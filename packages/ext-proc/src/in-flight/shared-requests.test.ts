import { expect, test } from 'vitest';
import { RequestRegistry } from './request-registry.ts';
import {
  createSharedRequestsBuffer,
  SharedRequests,
  sharedRequestsMax,
} from './shared-requests.ts';

function twoThreads() {
  const buffer = createSharedRequestsBuffer();
  const first = new RequestRegistry(new SharedRequests(buffer, 0));
  const second = new RequestRegistry(new SharedRequests(buffer, 1));
  return { buffer, first, second };
}

test('a stream on another thread goes where its request went, and counts nothing', () => {
  const { first, second } = twoThreads();
  const entry = first.add('ns/pool', 'id', 7, '[fd00::1]:8000');
  const guest = second.join('ns/pool', 'id');
  expect(guest).toMatchObject({ destination: '[fd00::1]:8000', ticket: -1 });
  expect(second.size).toBe(0);
  expect(second.join('ns/other', 'id')).toBeUndefined();
  expect(second.leave(guest!)).toBe(true);
  expect(first.leave(entry)).toBe(true);
  expect(second.join('ns/pool', 'id')).toBeUndefined();
});

test('a request that has a response cannot be joined from another thread either', () => {
  const { first, second } = twoThreads();
  const entry = first.add('ns/pool', 'id', 7, 'a:1');
  first.respond(entry);
  expect(second.join('ns/pool', 'id')).toBeUndefined();
});

test('a constant id cannot hide load from the other threads', () => {
  const { first, second } = twoThreads();
  first.add('ns/pool', 'id', 7, 'a:1');
  let joined = 0;
  while (second.join('ns/pool', 'id') !== undefined) joined++;
  expect(joined).toBe(8);
});

test('a fallback list and a full table are not shared, and hurt nobody', () => {
  const { buffer, first, second } = twoThreads();
  const list = Array.from({ length: 4 }, (_, i) => `10.0.0.${i}:8000`).join();
  const entry = first.add('ns/pool', 'list', 1, list);
  expect(second.join('ns/pool', 'list')).toBeUndefined();
  expect(first.leave(entry)).toBe(true);
  const shared = new SharedRequests(buffer, 0);
  let offered = 0;
  for (let i = 0; i < sharedRequestsMax * 2; i++) {
    if (shared.offer(`key ${i}`, 'a:1') >= 0) offered++;
  }
  expect(offered).toBeLessThanOrEqual(sharedRequestsMax);
  expect(offered).toBeGreaterThan(sharedRequestsMax * 0.8);
});

test('what a thread left when it died is gone once its successor starts', () => {
  const { buffer, first, second } = twoThreads();
  first.add('ns/pool', 'id', 7, 'a:1');
  second.add('ns/pool', 'other', 8, 'b:1');
  new SharedRequests(buffer, 0).forget();
  expect(second.join('ns/pool', 'id')).toBeUndefined();
  expect(first.join('ns/pool', 'other')?.destination).toBe('b:1');
});
