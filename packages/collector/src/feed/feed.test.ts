/** How a feed waits for frames: in its sleep where the thread is its own, else in the event loop. */
import { grpcSink } from '@leadsman/link';
import { waitUntil } from '@leadsman/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { Feed } from './feed.ts';

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  vi.restoreAllMocks();
});

/** Feeds three frames, one after the other, at a standing clock; how often the thread slept. */
async function sleepsOf(sleeps: boolean): Promise<number> {
  const wait = vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out');
  const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const direct = { host: '127.0.0.1', port: 0 };
  const deps = { logger, nowMs: () => 1_000, random: Math.random, sleeps };
  const feed = new Feed({ name: 'test', direct }, deps);
  cleanUps.push(() => feed.close());
  let got = 0;
  await feed.start(() => got++);
  const sink = grpcSink({ targets: [feed.directAddress] });
  cleanUps.push(() => sink.close());
  await waitUntil(() => sink.connected, { what: 'the stream' });
  for (let sent = 1; sent <= 3; sent++) {
    sink.send(Uint8Array.of(sent));
    await waitUntil(() => got === sent, { what: 'the frame' });
    await new Promise((resolve) => setImmediate(resolve));
  }
  return wait.mock.calls.length;
}

test('a thread of its own sleeps between frames that come in close succession', async () => {
  expect(await sleepsOf(true)).toBeGreaterThan(0);
});

test('a thread with other work never sleeps', async () => {
  expect(await sleepsOf(false)).toBe(0);
});
