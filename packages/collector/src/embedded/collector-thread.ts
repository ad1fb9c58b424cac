/** Entry of the collector's thread within a picker; see start-embedded-collector.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import { createLogger, monotonicMs } from '@leadsman/service';
import { CollectorCore } from '../core/collector-core.ts';
import type { CollectorThreadData, CollectorThreadMessage } from './thread-messages.ts';

/** Distance of two snapshots for metrics. */
const snapshotEveryMs = 1_000;

const data = workerData as CollectorThreadData;
const logger = createLogger({ name: 'collector', level: data.logLevel });
const core = new CollectorCore(
  { view: data.view, feed: data.feed, expireAfterMs: data.expireAfterMs, keepRanks: false },
  { logger, nowMs: monotonicMs, random: Math.random, sleeps: true },
);
const tell = (message: CollectorThreadMessage) => parentPort?.postMessage(message);

parentPort?.on('message', (message: unknown) => {
  if (message === 'stop') void stop();
});
await core.start();
if (core.feed.directAddress !== '') tell({ type: 'listening', address: core.feed.directAddress });
tell({ type: 'snapshot', snapshot: core.snapshot() });
const timer = setInterval(
  () => tell({ type: 'snapshot', snapshot: core.snapshot() }),
  snapshotEveryMs,
);

async function stop(): Promise<void> {
  clearInterval(timer);
  await core.stop();
  parentPort?.close();
}
