import { feedState } from '@leadsman/view/layout';
import { expect, test } from 'vitest';
import { FeedWatch } from './feed-watch.ts';

test('the view is whole after a keyframe interval of connection, and has to earn it again', () => {
  const watch = new FeedWatch(1_500);
  expect(watch.update(false, 0)).toBe(feedState.never);
  expect(watch.update(true, 100)).toBe(feedState.syncing);
  expect(watch.update(true, 1_599)).toBe(feedState.syncing);
  expect(watch.update(true, 1_600)).toBe(feedState.synced);
  expect(watch.update(false, 1_700)).toBe(feedState.disconnected);
  expect(watch.update(true, 1_800)).toBe(feedState.syncing);
  expect(watch.update(true, 3_300)).toBe(feedState.synced);
  // One more sender does not make it less whole than it was.
  expect(watch.update(true, 3_400, 3_400)).toBe(feedState.synced);
});
