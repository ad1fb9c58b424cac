/** What `expected-work` must reach against the polling peers, as ratios: lower is better. */
import type { ScenarioResult } from './measure.ts';
import type { Scenario } from './scenario.ts';

interface Target {
  /** p99 of TTFT against the peer that goes by its gauges alone. */
  polling: number;
  /** The same against the peer that counts its own requests in flight, too. */
  inFlight: number;
}

/** Nothing may be worse than this anywhere. */
const worstRatio = 1.05;
const endToEndMax = 1.02;
const endToEndSharedMax = 0.85;
const shortOfLongMax = 0.4;

const targets: Record<Scenario['kind'], Target> = {
  chat: { polling: 0.5, inFlight: 0.75 },
  bursts: { polling: 0.5, inFlight: 0.75 },
  long: { polling: 0.5, inFlight: 0.9 },
  hardware: { polling: 0.5, inFlight: 0.75 },
  'shared-hardware': { polling: 0.5, inFlight: 0.75 },
  shared: { polling: 0.4, inFlight: 0.4 },
  late: { polling: 0.4, inFlight: 0.4 },
  other: { polling: worstRatio, inFlight: worstRatio },
};

/** The targets a result misses, one line each; empty when all are met. */
export function missedTargets(result: ScenarioResult): string[] {
  const missed: string[] = [];
  const check = (what: string, ratio: number, most: number) => {
    if (ratio > most) missed.push(`${result.scenario}: ${what} ${ratio.toFixed(2)} > ${most}`);
  };
  const { polling, 'polling+in-flight': inFlight } = result.ratios;
  const isShared = result.kind.startsWith('shared') || result.kind === 'late';
  // With one replica a peer knows all that was sent: what counts is not to be worse.
  const target =
    isShared && result.replicas === 1
      ? { polling: worstRatio, inFlight: worstRatio }
      : targets[result.kind];
  check('p99 TTFT / polling', polling.ttftP99, target.polling);
  check('p99 TTFT / polling+in-flight', inFlight.ttftP99, target.inFlight);
  if (result.kind === 'long') {
    check('short p99 TTFT / polling+in-flight', inFlight.shortTtftP99, shortOfLongMax);
  }
  const most = isShared ? endToEndSharedMax : endToEndMax;
  check('mean end-to-end / polling', polling.endToEndMean, endToEndMax);
  check('mean end-to-end / polling+in-flight', inFlight.endToEndMean, most);
  return missed;
}
