/**
 * A process of the NATS test: publishes a frame of 75 reports every 5 ms to the server named by its
 * first argument. Every number of a report is the time it was sent, by the machine's clock.
 */
import { connectNats, natsSink } from '@leadsman/link';
import { monotonicMs } from '@leadsman/service';
import { nodeFramesSubject } from '@leadsman/wire';
import { reportRecord, SampleSender } from '../sample-frame.ts';

const link = connectNats({ servers: [process.argv[2] ?? ''], name: 'busy agent' });
const sink = natsSink(link, nodeFramesSubject('leadsman', 'busy'));
const sender = new SampleSender();
let seq = 0;
setInterval(() => {
  seq++;
  const value = monotonicMs();
  const records = Array.from({ length: 75 }, (_, i) =>
    reportRecord({ uid: `pod-${i}`, seq, value }),
  );
  sink.send(sender.frame(records));
}, 5);
