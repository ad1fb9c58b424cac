/** Publishes messages evenly in time, as many nodes do together. */
import { connectNats } from '@leadsman/link';
import { waitUntil } from '@leadsman/testing';
import type { SenderTask } from './messages.ts';

const task = JSON.parse(process.argv[2] ?? '') as SenderTask;
const link = connectNats({ servers: [task.url], name: 'sender' });
const payload = new Uint8Array(task.payloadBytes).fill(7);
await waitUntil(() => link.connected, { what: 'the server' });
const beganMs = performance.now();
let sent = 0;
setInterval(() => {
  const due = ((performance.now() - beganMs) * task.perS) / 1_000;
  for (; sent < due; sent++) link.publish(`bench.${sent % 100}`, payload);
}, 1);
process.on('disconnect', () => process.exit(0));
process.send?.('sending');
