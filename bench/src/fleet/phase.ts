/** One stretch of a fleet's run: how fresh the numbers were in it, and what it cost. */
import type { FleetOptions } from './options.ts';
import type { FleetSystem, Sample } from './system.ts';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
export const rounded = (value: number, digits = 3) => Number(value.toFixed(digits));

export interface Phase {
  freshness_ms: { p50: number; p99: number; max: number };
  changes_seen: number;
  late: number;
  before: Sample;
  after: Sample;
}

/** Measures for `ms` from now on. */
export async function measurePhase(system: FleetSystem, ms: number): Promise<Phase> {
  const { reader } = system;
  reader.freshness.clear();
  reader.late = 0;
  reader.measuring = true;
  system.command({ type: 'measure' });
  const before = await system.sample();
  await sleep(ms);
  const after = await system.sample();
  reader.measuring = false;
  return {
    freshness_ms: {
      p50: reader.freshness.quantileMs(0.5),
      p99: reader.freshness.quantileMs(0.99),
      max: rounded(reader.freshness.maxMs, 1),
    },
    changes_seen: reader.freshness.count,
    late: reader.late,
    before,
    after,
  };
}

/**
 * What the phase cost; every figure is a difference of two samples. `connections`: of the senders,
 * and of the reader to the broker when there is one.
 */
export function rates({ before, after }: Phase, options: FleetOptions) {
  const pods = options.plan.nodes * options.plan.podsPerNode;
  const { senders } = after.senders;
  const readers = after.picker === undefined ? 1 : 2;
  const seconds = (after.atMs - before.atMs) / 1_000;
  const reports = after.senders.reports - before.senders.reports;
  const cores = (us: number) => rounded(us / 1e6 / seconds);
  const collectorUs = after.collectorCpuUs - before.collectorCpuUs;
  const sendersUs = after.senders.cpuUs - before.senders.cpuUs;
  const natsUs = after.natsCpuUs - before.natsCpuUs;
  return {
    reports_per_s: Math.round(reports / seconds),
    messages_per_s: Math.round((after.senders.frames - before.senders.frames) / seconds),
    bytes_per_s: Math.round((after.senders.frameBytes - before.senders.frameBytes) / seconds),
    connections: options.transport === 'direct' ? senders * readers : senders + 1,
    dropped_frames: after.senders.dropped - before.senders.dropped,
    sender_most_late_ms: rounded(after.senders.mostLateMs, 1),
    cpu_cores: {
      collector: cores(collectorUs),
      nats: cores(natsUs),
      senders: cores(sendersUs),
      reader: cores(after.readerCpuUs - before.readerCpuUs),
    },
    cpu_us_per_report: rounded(collectorUs / reports, 2),
    cpu_us_per_report_all: rounded((collectorUs + sendersUs + natsUs) / reports, 2),
    cpu_us_per_pod_s: {
      collector: rounded(collectorUs / pods / seconds, 1),
      whole_pipeline: rounded((collectorUs + sendersUs + natsUs) / pods / seconds, 1),
    },
  };
}
