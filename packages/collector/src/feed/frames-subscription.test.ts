import type { NatsLink } from '@leadsman/link';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FramesSubscription } from './frames-subscription.ts';

/** As much of a link as a subscription sees; the test plays the server. */
class SampleLink {
  connected = false;
  readonly counters = { permissionErrors: 0, droppedLate: 0 };
  deliver: () => void = () => undefined;
  lagMs = 0;
  subscriptions = 0;
  asked = 0;
  #listener: ((connected: boolean) => void) | undefined;

  subscribe(_: string, handler: (bytes: Uint8Array) => void): () => void {
    this.deliver = () => handler(new Uint8Array(0));
    this.subscriptions++;
    this.asked++;
    return () => {
      this.subscriptions--;
    };
  }

  onState(listener: (connected: boolean) => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = undefined;
    };
  }

  turn(connected: boolean): void {
    this.connected = connected;
    this.#listener?.(connected);
  }
}

let link: SampleLink;
let frames: FramesSubscription;
let nowMs: number;
let waited: number[];

beforeEach(() => {
  vi.useFakeTimers();
  link = new SampleLink();
  nowMs = 0;
  waited = [];
  const subject = 'leadsman.v1.frames.>';
  frames = new FramesSubscription(link as unknown as NatsLink, subject, () => nowMs);
  frames.start((_, waitedMs) => waited.push(waitedMs));
});
afterEach(async () => {
  await frames.close();
  expect(link.subscriptions).toBe(0);
  vi.useRealTimers();
});

test('a connection whose subscription is refused brings nothing', () => {
  expect(frames.connected).toBe(false);
  link.turn(true);
  expect(frames.connected).toBe(true);
  link.counters.permissionErrors++;
  expect([frames.connected, frames.refused]).toEqual([false, true]);
});

test('it asks again every 5 s, until it is granted', () => {
  link.turn(true);
  link.counters.permissionErrors++;
  expect(frames.connected).toBe(false);
  vi.advanceTimersByTime(5_000);
  expect([link.asked, link.subscriptions, frames.connected]).toEqual([2, 1, false]);
  link.counters.permissionErrors++;
  vi.advanceTimersByTime(5_000);
  expect([link.asked, frames.connected]).toEqual([3, false]);
  // This time no refusal comes.
  vi.advanceTimersByTime(5_000);
  expect([link.asked, link.subscriptions, frames.connected]).toEqual([3, 1, true]);
});

test('a new connection is another chance', () => {
  link.turn(true);
  link.counters.permissionErrors++;
  expect(frames.connected).toBe(false);
  link.turn(false);
  link.turn(true);
  expect(frames.connected).toBe(true);
  link.counters.permissionErrors++;
  expect(frames.connected).toBe(false);
});

/** Ticks for `ms`, with what the server's messages come to at each. */
function pass(ms: number, perTick: { dropped: number; delivered: number }): boolean {
  let connected = frames.connected;
  for (let passedMs = 0; passedMs < ms; passedMs += 100) {
    nowMs += 100;
    link.counters.droppedLate += perTick.dropped;
    for (let i = 0; i < perTick.delivered; i++) link.deliver();
    connected = frames.connected;
  }
  return connected;
}

test('one that drops all it gets as too late is cut off, until it has caught up', () => {
  link.turn(true);
  expect(pass(5_000, { dropped: 0, delivered: 3 })).toBe(true);
  expect(pass(2_000, { dropped: 3, delivered: 0 })).toBe(true);
  expect(pass(200, { dropped: 3, delivered: 0 })).toBe(false);
  expect(frames.problem).toMatch(/too slow/);
  expect(pass(60_000, { dropped: 1, delivered: 0 })).toBe(false);
  expect(pass(100, { dropped: 3, delivered: 1 })).toBe(true);
  expect(frames.problem).toBeUndefined();
});

test('one that drops some of it, or to which nobody speaks any more, is not', () => {
  link.turn(true);
  expect(pass(60_000, { dropped: 3, delivered: 1 })).toBe(true);
  expect(pass(1_000, { dropped: 3, delivered: 0 })).toBe(true);
  expect(pass(60_000, { dropped: 0, delivered: 0 })).toBe(true);
  expect(pass(3_000, { dropped: 3, delivered: 0 })).toBe(false);
  expect(pass(60_000, { dropped: 0, delivered: 0 })).toBe(true);
});

test('what the link knows of waiting comes with each frame', () => {
  link.turn(true);
  link.deliver();
  link.lagMs = 400;
  link.deliver();
  expect(waited).toEqual([0, 400]);
});
