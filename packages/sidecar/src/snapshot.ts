/**
 * `/snapshot`: what the sidecar knows, as JSON for people and scripts. Names carry their units,
 * unknown is `null`, and a target without fresh numbers says why.
 */
import { finding, type Target } from '@leadsman/scrape';
import {
  type EndpointState,
  isLoadKnown,
  staleAfterMsDefault,
  stateOf,
} from '@leadsman/view/trust';
import { metric, metricNames, type Report, reasonName, reportFlag } from '@leadsman/wire';
import type { Exporter } from './exporter/exporter.ts';

export function snapshotJson(
  targets: readonly Target[],
  exporter: Exporter,
  mode: string,
  nowMs: number,
): object {
  return {
    exporter: {
      mode,
      path: exporter.path,
      agentOutcome: exporter.agentOutcome ?? null,
      ...exporter.counters,
    },
    targets: targets.map((target) => targetJson(target, nowMs)),
  };
}

function targetJson(target: Target, nowMs: number): object {
  const { state } = target;
  const { identity, reading } = state;
  const report = state.report(nowMs);
  return {
    podUid: identity.podUid,
    podName: identity.podName,
    namespace: identity.namespace,
    nodeName: identity.nodeName,
    address: identity.address,
    port: identity.port,
    state: stateName(report),
    reason: reasonName(state.reason),
    detail: state.detail,
    ageMs: reading === undefined ? null : Math.round(report.ageMs),
    epoch: report.epoch,
    seq: report.seq,
    engine: target.engine ?? null,
    engineVersion: state.engineVersion || null,
    models: reading?.models ?? [],
    loraRunning: reading?.loraRunning ?? null,
    loraWaiting: reading?.loraWaiting ?? null,
    sleeping: (report.flags & reportFlag.sleeping) !== 0,
    engineRanks: report.engineRanks,
    metrics: Object.fromEntries(
      metricNames.map((name) => [name, orNull(report.metrics[metric[name]])]),
    ),
    ranks: state.ranks.map((rank) => ({
      rank: rank.rank,
      runningRequests: orNull(rank.runningRequests),
      waitingRequests: orNull(rank.waitingRequests),
      kvCacheUsageRatio: orNull(rank.kvCacheUsageRatio),
    })),
    invalid: metricNames.filter((name) => isUnusable(reading?.findings[metric[name]])),
    scrapes: wayJson(target),
    counters: { ...target.counters, ...target.pages },
  };
}

/** How the engine is asked, and what a page of either way cost last. */
function wayJson({ way }: Target): object {
  return {
    way: way.way,
    whyNotByName: way.why || null,
    names: way.names,
    wholeBytes: orNull(way.wholeBytes),
    wholeMs: orNull(way.wholeMs),
    byNameBytes: orNull(way.byNameBytes),
    byNameMs: orNull(way.byNameMs),
  };
}

function stateName(report: Report): EndpointState {
  const { metrics, flags, ageMs } = report;
  const known = isLoadKnown(
    metrics[metric.runningRequests] ?? Number.NaN,
    metrics[metric.waitingRequests] ?? Number.NaN,
  );
  return stateOf(flags, report.reason, known, ageMs, staleAfterMsDefault);
}

/** On the page, but no number: impossible, or lines of it are missing. */
function isUnusable(found: number | undefined): boolean {
  return found === finding.invalid || found === finding.lost;
}

function orNull(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}
