import type { NatsLink } from '@leadsman/link';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FramesSubscription } from './frames-subscription.ts';

/** As much of a link as a subscription sees; the test plays the server. */
class SampleLink {
  connected = false;
  readonly counters = { permissionErrors: 0 };
  subscriptions = 0;
  asked = 0;
  #listener: ((connected: boolean) => void) | undefined;

  subscribe(): () => void {
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

beforeEach(() => {
  vi.useFakeTimers();
  link = new SampleLink();
  frames = new FramesSubscription(link as unknown as NatsLink, 'leadsman.v1.frames.>');
  frames.start(() => undefined);
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
