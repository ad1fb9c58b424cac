/** Receives for a while and tells what it cost: the clients differ, the handler does not. */
import { connectNats } from '@leadsman/link';
import { BatchedWakeup } from '@leadsman/service';
import { connect } from '@nats-io/transport-node';
import type { ReceiverTask } from './messages.ts';

/** What a collector's thread sleeps, ms. */
const gatherMs = 8;
/** Enough for the runtime to compile what is hot. */
const warmUpMs = 4_000;

const task = JSON.parse(process.argv[2] ?? '') as ReceiverTask;
let received = 0;
let bytes = 0;
const wakeup = task.reading.endsWith('batched')
  ? new BatchedWakeup(gatherMs, () => performance.now())
  : undefined;
const handler = (payload: Uint8Array) => {
  wakeup?.frameTaken();
  received++;
  bytes += payload.length;
};
if (task.reading.startsWith('plain')) {
  const connection = await connect({ servers: [task.url], noAsyncTraces: true });
  connection.subscribe('bench.>', { callback: (_, message) => handler(message.data) });
} else {
  connectNats({ servers: [task.url], name: 'receiver' }).subscribe('bench.>', handler);
}
process.on('disconnect', () => process.exit(0));
setTimeout(
  () => {
    const beganMs = performance.now();
    const before = process.cpuUsage();
    const receivedBefore = received;
    setTimeout(() => {
      const { user, system } = process.cpuUsage(before);
      const passedMs = performance.now() - beganMs;
      if (bytes === 0) throw new Error('nothing received');
      process.send?.({
        cpuPercent: (user + system) / 10 / passedMs,
        perS: ((received - receivedBefore) * 1_000) / passedMs,
      });
    }, task.seconds * 1_000);
  },
  Math.min(warmUpMs, task.seconds * 1_000),
);
