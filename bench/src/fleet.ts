/**
 * `npm run bench -- fleet --nodes N --pods-per-node M`: a whole fleet's reports through real NATS
 * into a real view, and how fresh they are when a reader sees them.
 *
 * Freshness runs from the moment an engine's number changed (not from its scrape) to the moment a
 * reader of the view sees the new number: the wait for the next scrape is in it. One process plays
 * all senders with real batching and one connection per node; nats-server, the collector's thread
 * and the reader are as in production. In the same run a process polls the pods itself, at the
 * same interval and with the same parser. `ratio`: CPU per known pod of that process to that of
 * the collector's thread, which is what a picker pays.
 *
 * `--exporter pod`: a connection per pod. `--transport direct`: streams without a broker.
 * `--rolling`: restarts of NATS (three servers), agents and the collector meanwhile.
 * `--no-polling`: without the baseline.
 */
import { viewBytes } from '@leadsman/collector';
import { waitUntil } from '@leadsman/testing';
import { endAllChildren } from './fleet/child.ts';
import { type FleetOptions, fleetOptions } from './fleet/options.ts';
import { measurePolling, type PollingResult } from './fleet/polling.ts';
import { type RollingStep, roll } from './fleet/rolling.ts';
import { FleetSystem, type Sample } from './fleet/system.ts';
import { printFleet } from './fleet/table.ts';
import type { BenchOptions } from './main.ts';

export const about = 'a fleet through NATS: freshness, CPU, bytes; against polling';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const rounded = (value: number, digits = 3) => Number(value.toFixed(digits));

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const fleet = fleetOptions(options);
  try {
    const measured = await measureFleet(fleet);
    const { intervalMs } = fleet.plan;
    const polling = fleet.polling && (await measurePolling({ intervalMs, ...fleet.polling }));
    const result = {
      ...measured,
      ...(polling && against(polling, measured.cpu_us_per_pod_s.collector)),
    };
    if (!options.json) printFleet(result);
    return result;
  } finally {
    await endAllChildren();
  }
}

async function measureFleet(fleet: FleetOptions) {
  const { plan } = fleet;
  const pods = plan.nodes * plan.podsPerNode;
  const system = await FleetSystem.start(fleet);
  try {
    await system.complete(pods);
    // Compiling and the burst of connections belong to the start.
    await sleep(Math.min(3_000, fleet.measureMs));
    const { reader } = system;
    reader.measuring = true;
    system.command({ type: 'measure' });
    const before = await system.sample();
    await sleep(fleet.measureMs);
    const after = await system.sample();
    const freshness = {
      p50: reader.freshness.quantileMs(0.5),
      p99: reader.freshness.quantileMs(0.99),
      max: rounded(reader.freshness.maxMs, 1),
    };
    const { late } = reader;
    const changes = reader.freshness.count;
    reader.measuring = false;
    const rolling = fleet.rolling ? await roll(system, fleet) : undefined;
    const lost = await countLost(system);
    return {
      nodes: plan.nodes,
      pods_per_node: plan.podsPerNode,
      pods,
      exporter: fleet.exporter,
      transport: fleet.transport,
      interval_ms: plan.intervalMs,
      scrape_ms: plan.scrapeMs,
      freshness_ms: freshness,
      changes_seen: changes,
      late,
      lost,
      wrong: reader.wrong,
      went_back: reader.wentBack,
      missing_frames: after.missingFrames - before.missingFrames,
      dropped_late_frames: after.droppedLate - before.droppedLate,
      collector_stalls: after.stalls - before.stalls,
      ...rates(before, after, pods),
      memory_mb: {
        senders: Math.round(after.senders.rssBytes / 1e6),
        nats: Math.round(((await system.brokers?.rssBytes()) ?? 0) / 1e6),
        collector_and_reader: Math.round(process.memoryUsage.rss() / 1e6),
        view: rounded(viewBytes(Math.max(64, pods)) / 1e6, 1),
      },
      ...(rolling === undefined ? {} : { rolling: rollingFields(rolling) }),
      versions: { nats: system.brokers?.version ?? '', node: process.version },
    };
  } finally {
    await system.stop();
  }
}

function rates(before: Sample, after: Sample, pods: number) {
  const seconds = (after.atMs - before.atMs) / 1_000;
  const senderS = seconds;
  const reports = after.senders.reports - before.senders.reports;
  const cores = (us: number) => rounded(us / 1e6 / seconds);
  const collectorUs = after.collectorCpuUs - before.collectorCpuUs;
  const sendersUs = after.senders.cpuUs - before.senders.cpuUs;
  const natsUs = after.natsCpuUs - before.natsCpuUs;
  return {
    reports_per_s: Math.round(reports / senderS),
    messages_per_s: Math.round((after.senders.frames - before.senders.frames) / senderS),
    bytes_per_s: Math.round((after.senders.frameBytes - before.senders.frameBytes) / senderS),
    connections: after.senders.senders + 1,
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

/** Pods whose last report never became visible. */
async function countLost(system: FleetSystem): Promise<number> {
  const last = await system.quiesce();
  const missing = () => last.filter((count, pod) => (system.reader.seen[pod] ?? -1) < count).length;
  await waitUntil(() => missing() === 0, { what: 'the last reports', deadlineMs: 1_500 }).catch(
    () => undefined,
  );
  return missing();
}

function rollingFields(steps: readonly RollingStep[]) {
  return {
    fresh_again_ms_max: Math.max(...steps.map((step) => step.freshAgainMs)),
    steps: steps.map(({ what, freshAgainMs, worstAgeMs }) => ({
      what,
      fresh_again_ms: freshAgainMs,
      worst_age_ms: worstAgeMs,
    })),
  };
}

function against(polling: PollingResult, collectorUsPerPodS: number) {
  return {
    polling: {
      pods_carried: polling.podsCarried,
      page_bytes: polling.pageBytes,
      cpu_us_per_scrape: polling.cpuUsPerScrape,
      cpu_us_per_pod_s: polling.cpuUsPerPodS,
    },
    ratio: rounded(polling.cpuUsPerPodS / collectorUsPerPodS, 1),
  };
}
