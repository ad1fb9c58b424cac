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
 * A fleet too large for one process of senders reports less often; the result says so and
 * extrapolates to 20 reports a second and pod.
 *
 * `--exporter pod`: a connection per pod. `--transport direct`: streams without a broker.
 * `--ext-proc RPS`: then a second measurement while a picker process of its own, fed like any other,
 * answers that many exchanges a second; `freshness_ms` of both can be compared.
 * `--rolling`: restarts of NATS (three servers), agents and the collector meanwhile.
 * `--no-polling`: without the baseline.
 */

import { waitUntil } from '@leadsman/testing';
import { viewBytes } from '@leadsman/view/layout';
import { endAllChildren } from './fleet/child.ts';
import { measureExtProc } from './fleet/ext-proc-phase.ts';
import { extrapolation } from './fleet/extrapolate.ts';
import { type FleetOptions, fleetOptions } from './fleet/options.ts';
import { measurePhase, rates, rounded } from './fleet/phase.ts';
import { measurePolling, type PollingResult } from './fleet/polling.ts';
import { type RollingStep, roll } from './fleet/rolling.ts';
import { FleetSystem } from './fleet/system.ts';
import { printFleet } from './fleet/table.ts';
import type { BenchOptions } from './main.ts';

export const about = 'a fleet through NATS: freshness, CPU, bytes; against polling';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

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
    const phase = await measurePhase(system, fleet.measureMs);
    const { before, after } = phase;
    const extProc = system.picker && (await measureExtProc(system, system.picker, fleet, phase));
    const rolling = fleet.rolling ? await roll(system, fleet) : undefined;
    const lost = await countLost(system);
    const measured = rates(phase, fleet);
    return {
      nodes: plan.nodes,
      pods_per_node: plan.podsPerNode,
      pods,
      exporter: fleet.exporter,
      transport: fleet.transport,
      interval_ms: plan.intervalMs,
      scrape_ms: plan.scrapeMs,
      freshness_ms: phase.freshness_ms,
      changes_seen: phase.changes_seen,
      late: phase.late,
      lost,
      wrong: system.reader.wrong,
      went_back: system.reader.wentBack,
      missing_frames: after.missingFrames - before.missingFrames,
      dropped_late_frames: after.droppedLate - before.droppedLate,
      collector_stalls: after.stalls - before.stalls,
      ...measured,
      ...extrapolation(fleet, measured),
      memory_mb: {
        senders: Math.round(after.senders.rssBytes / 1e6),
        nats: Math.round(((await system.brokers?.rssBytes()) ?? 0) / 1e6),
        collector_and_reader: Math.round(process.memoryUsage.rss() / 1e6),
        view: rounded(viewBytes(Math.max(64, pods)) / 1e6, 1),
      },
      ...(extProc === undefined ? {} : { ext_proc: extProc }),
      ...(rolling === undefined ? {} : { rolling: rollingFields(rolling) }),
      versions: { nats: system.brokers?.version ?? '', node: process.version },
    };
  } finally {
    await system.stop();
  }
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
