/**
 * What a fleet that reported less often than it would in production would cost at the full rate:
 * the measured cost per report times the reports. Upper bounds: the keyframe each second and being
 * awake are in that cost, and weigh less the more reports there are.
 */
import { type FleetOptions, fullIntervalMs } from './options.ts';
import { rounded } from './phase.ts';

export interface Measured {
  reports_per_s: number;
  bytes_per_s: number;
  cpu_us_per_report: number;
  cpu_us_per_report_all: number;
}

/** Fields for the result; none when the fleet reported at the full rate. */
export function extrapolation({ plan, intervalIsOurs }: FleetOptions, measured: Measured) {
  if (plan.intervalMs <= fullIntervalMs) return {};
  const perPodS = 1_000 / fullIntervalMs;
  const perS = plan.nodes * plan.podsPerNode * perPodS;
  const cores = (usPerReport: number) => rounded((usPerReport * perS) / 1e6, 2);
  return {
    report_rate:
      `${rounded(1_000 / plan.intervalMs, 1)} per pod and second instead of ${perPodS}` +
      (intervalIsOurs ? ', as one process cannot make more for all senders' : ', as asked for'),
    extrapolated: {
      reports_per_pod_s: perPodS,
      reports_per_s: perS,
      bytes_per_s: Math.round((measured.bytes_per_s / measured.reports_per_s) * perS),
      collector_cores: cores(measured.cpu_us_per_report),
      senders_nats_and_collector_cores: cores(measured.cpu_us_per_report_all),
    },
  };
}
