/** A fleet on a fake clock, with one sender and one reader. */

import { createView, feedState } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import type { SampleOptions } from '@leadsman/view/sample-report';
import { ViewWriter } from '@leadsman/view/writer';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { reportRecord, SampleSender } from '../sample-frame.ts';
import { FrameIngest } from './frame-ingest.ts';

const keyOf = (uid: string) => podKeyText(podKeyFromUid(uid));

/** A fleet on a fake clock; `nowMs` is moved by the tests. */
export function setup(slotsMax = 16) {
  const shared = createView({ slotsMax });
  const writer = new ViewWriter(shared);
  const ingest = new FrameIngest({ writer, nowMs: 0, keepRanks: true });
  const reader = new ViewReader(shared);
  const sender = new SampleSender();
  const fleet = {
    shared,
    ingest,
    reader,
    sender,
    nowMs: 0,
    receive(frame: Uint8Array) {
      ingest.receive(frame, fleet.nowMs);
      reader.refresh();
    },
    report(options: SampleOptions = {}) {
      fleet.receive(sender.frame([reportRecord(options)]));
    },
    /** Lets time pass with ticks at their usual distance. */
    pass(ms: number, feed: (typeof feedState)[keyof typeof feedState] = feedState.synced) {
      const until = fleet.nowMs + ms;
      while (fleet.nowMs < until) {
        fleet.nowMs = Math.min(until, fleet.nowMs + 100);
        ingest.tick(fleet.nowMs, feed);
      }
      reader.refresh();
    },
    slot: (uid = 'pod-a', port = 8000) => reader.slotOf(keyOf(uid), port),
    seq: (uid = 'pod-a') => reader.seq(fleet.slot(uid)),
  };
  return fleet;
}
