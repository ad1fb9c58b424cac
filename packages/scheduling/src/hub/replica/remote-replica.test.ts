import { expect, it } from 'vitest';
import { createRemoteBuffer, RemoteWords } from '../../shared/remote-words.ts';
import { RemoteReplica } from './remote-replica.ts';

it('a replica that restarts with a younger clock is not late', () => {
  const replica = new RemoteReplica(new Uint8Array(8), new RemoteWords(createRemoteBuffer(4)));
  replica.reset(1);
  // A machine that has been up for long: its monotonic clock is ahead of ours.
  for (let ms = 0; ms < 2_000; ms += 20) replica.delay.received(1e9 + ms, ms);
  expect(replica.delay.delayMs).toBe(0);
  replica.reset(2);
  for (let ms = 2_000; ms < 4_000; ms += 20) {
    replica.delay.received(ms - 2_000, ms);
    replica.receivedAtMs = ms;
    replica.judge(ms, 20, 100);
  }
  expect(replica.delay.delayMs).toBe(0);
  expect(replica.isCounted).toBe(true);
});
