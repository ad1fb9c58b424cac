import { feedState } from '@leadsman/view/layout';
import { expect, test } from 'vitest';
import { FeedWatch } from '../ingest/feed-watch.ts';
import { DirectPresence, directAloneMs } from './direct-presence.ts';

/** When the view counts as whole, if `streams` says how many senders stream at a time. */
function wholeAtMs(streams: (nowMs: number) => number): number {
  const presence = new DirectPresence();
  const watch = new FeedWatch();
  presence.listening(0);
  for (let nowMs = 0; nowMs < 60_000; nowMs += 100) {
    presence.look(streams(nowMs), nowMs);
    const state = watch.update(presence.connected, nowMs, presence.arrivedAtMs);
    if (state === feedState.synced) return nowMs;
  }
  return Number.POSITIVE_INFINITY;
}

test('a view is whole soon after the last of its senders came', () => {
  expect(wholeAtMs((nowMs) => (nowMs < 300 ? 0 : 1))).toBe(1_800);
  // A hundred senders, each of which looks for the listener every 5 s.
  expect(wholeAtMs((nowMs) => Math.min(100, Math.ceil(nowMs / 50)))).toBe(6_500);
});

test('senders that keep coming, as a fleet grows, do not hold it up for ever', () => {
  expect(wholeAtMs((nowMs) => nowMs / 100)).toBeLessThan(directAloneMs + 2_000);
});

test('without any sender it is whole after the time in which they would have come', () => {
  expect(wholeAtMs(() => 0)).toBe(directAloneMs + 1_500);
});

test('it is cut off when all senders are, not when some are', () => {
  const presence = new DirectPresence();
  presence.listening(0);
  presence.look(3, 100);
  presence.look(1, 200);
  expect(presence.connected).toBe(true);
  presence.look(0, 20_000);
  expect(presence.connected).toBe(false);
});
