/** An agent between senders and collectors of other versions passes on all they say. */
import { podKeyFromUid, podKeyText, recordType, reportBytes } from '@leadsman/wire';
import { oldFrame, oldReport, readOldFrame } from '@leadsman/wire/fixture/version-1';
import { expect, it } from 'vitest';
import { Batcher } from './batcher.ts';
import { Collected, frameOf, peerOf, reportOf } from './frames.fixture.ts';

function setUp() {
  const sent: Uint8Array[] = [];
  const sink = {
    connected: true,
    frameBytesMax: 65_536,
    send: (frame: Uint8Array) => sent.push(frame) > 0,
  };
  const batcher = new Batcher({ sender: { id: new Uint8Array(16), epoch: 1 }, sink, nowMs: 0 });
  return { batcher, sent };
}

it('batches of old and new reports are read by old and new collectors', () => {
  const { batcher, sent } = setUp();
  const old = { podKey: podKeyFromUid('old'), port: 8000, epoch: 1, seq: 4, metrics: [1, 2, 3] };
  const peer = peerOf('10.0.0.7');
  expect(batcher.take(oldFrame(1, [1, oldReport(old)]), peer, 1).status).toBe('taken');
  const fresh = reportOf({ uid: 'new', seq: 4, address: '10.0.0.7' });
  expect(batcher.take(frameOf([recordType.report, fresh]), peer, 1).status).toBe('taken');
  batcher.flush(1_000);
  const read = sent.flatMap(readOldFrame);
  expect(read.map(({ podKey }) => podKeyText(podKey))).toEqual(
    ['old', 'new'].map((uid) => podKeyText(podKeyFromUid(uid))),
  );
  const collected = new Collected();
  for (const frame of sent) collected.add(frame);
  expect(collected.report('old')).toMatchObject({ seq: 4 });
  expect(collected.report('new')).toMatchObject({ seq: 4 });
});

it('numbers that the agent does not know travel on', () => {
  const { batcher, sent } = setUp();
  const next = new Uint8Array(reportBytes + 8);
  next.set(reportOf({ uid: 'next', seq: 1 }));
  new DataView(next.buffer).setFloat64(reportBytes, 4_711, true);
  batcher.take(frameOf([recordType.report, next]), undefined, 1);
  batcher.flush(1_000);
  const last = new DataView((sent[0] as Uint8Array).buffer, sent[0]?.byteOffset);
  expect(last.getFloat64((sent[0]?.length ?? 0) - 8, true)).toBe(4_711);
});
