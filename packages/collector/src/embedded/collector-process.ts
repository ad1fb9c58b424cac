/** Entry of a picker's collector process; see start-embedded-collector.ts. */
import { createLogger } from '@leadsman/service/log';
import { monotonicMs } from '@leadsman/service/monotonic';
import { connectToParent, endOnFault } from '@leadsman/service/processes/parent';
import { CollectorCore } from '../core/collector-core.ts';
import type { CollectorStart, FromCollector, ToCollector } from './process-messages.ts';

/** Distance of two snapshots for metrics. */
const snapshotEveryMs = 1_000;

const parent = await connectToParent<CollectorStart, ToCollector, FromCollector>();
const { feed, expireAfterMs, logLevel } = parent.start;
process.title = 'leadsman-picker-collector';
const logger = createLogger({ name: 'collector', level: logLevel });
endOnFault(logger);
const core = new CollectorCore(
  { view: parent.memory.map(parent.start.view), feed, expireAfterMs, keepRanks: false },
  { logger, nowMs: monotonicMs, random: Math.random, sleeps: true },
);
parent.receive(() => void core.stop().finally(() => process.exit(0)));
await core.start();
const { directAddress } = core.feed;
if (directAddress !== '') parent.post({ type: 'listening', address: directAddress });
const tell = () => parent.post({ type: 'snapshot', snapshot: core.snapshot() });
tell();
setInterval(tell, snapshotEveryMs);
