/** The way of the numbers into a picker or a collector: NATS, the view. */
import type { Part } from './evidence.ts';
import { gain } from './evidence.ts';
import { type Finding, finding } from './finding.ts';

/** The one cause by which this process hears nobody; then every endpoint is old, and need not be told. */
export function checkFeed(part: Part): Finding[] {
  const { metrics } = part.now;
  const synced = 'leadsman_collector_feed_synced';
  const isLost = part.before.metrics.value(synced) === 0 && metrics.value(synced) === 0;
  return isLost ? [lostFeed(part)] : [];
}

function lostFeed(part: Part): Finding {
  const { metrics, notReady } = part.now;
  const of = (name: string) => metrics.value(`leadsman_collector_nats_${name}`);
  const isAway = of('connected') === 0;
  if (of('auth_errors_total') > 0 && isAway) {
    const evidence = `no connection to NATS; credentials refused ${of('auth_errors_total')} times`;
    return finding('nats_credentials_refused', part.url, evidence);
  }
  if (isAway && (of('connect_errors_total') > 0 || of('disconnects_total') > 0)) {
    const evidence =
      `no connection to NATS; ${of('connect_errors_total')} attempts failed, ` +
      `${of('disconnects_total')} connections ended`;
    return finding('nats_away', part.url, evidence);
  }
  if (of('permission_errors_total') > 0) {
    const evidence = `NATS refused a subscription ${of('permission_errors_total')} times`;
    return finding('nats_not_permitted', part.url, evidence);
  }
  const evidence = `the fleet view is not complete${notReady === undefined ? '' : `: ${notReady}`}`;
  return finding('collector_not_synced', part.url, evidence);
}

/** Endpoints that the view has no room for. */
export function checkView(part: Part): Finding[] {
  const full = gain(part, 'leadsman_collector_reports_total', { result: 'full' });
  if (full === 0) return [];
  return [finding('view_full', part.url, `${full} reports found no room between two looks`)];
}
