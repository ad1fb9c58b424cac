/** What the direct transport's sender counts, and the metrics that show it. */
import { type Counted, type CounterList, zeroes } from '@leadsman/service/counter-list';

const dropped = ['dropped_total', 'Frames dropped, by why.'] as const;

export const pushCounterList = {
  sent: ['sent_frames_total', 'Frames given to streams, one count per collector.'],
  sentBytes: ['sent_bytes_total', 'Their bytes.'],
  reconnects: ['reconnects_total', 'Streams that ended and were made again.'],
  connectErrors: ['connect_errors_total', 'Attempts at a stream that failed.'],
  droppedOffline: [...dropped, 'offline'],
  droppedStalled: [...dropped, 'stalled'],
} as const satisfies CounterList;

export type PushCounters = Counted<typeof pushCounterList>;

export const createPushCounters = (): PushCounters => zeroes(pushCounterList);
