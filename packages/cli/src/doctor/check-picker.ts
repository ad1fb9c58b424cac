/** A picker: its members, its readiness, its workers and what gateways do with it. */
import { checkEndpoints, withoutPorts } from './check-endpoints.ts';
import { checkFeed, checkView } from './check-feed.ts';
import { gain, type Json, objectsOf, type Part, textOf } from './evidence.ts';
import { type FaultName, type Finding, finding } from './finding.ts';

export function checkPicker(part: Part): Finding[] {
  const feed = checkFeed(part);
  const pools = objectsOf(part.now.json('v1/pools')?.pools);
  const silentPorts = new Set(pools.flatMap((pool) => portsOf(pool).destinations));
  return [
    ...feed,
    ...checkReady(part, feed.length > 0),
    ...checkPools(part, pools),
    ...checkView(part),
    ...checkCounters(part),
    ...checkWatches(part),
    ...withoutPorts(checkEndpoints(part, feed.length === 0), silentPorts),
  ];
}

/** `hasCause`: what it waits for is told already. */
function checkReady({ before, now, url }: Part, hasCause: boolean): Finding[] {
  if (before.notReady === undefined || now.notReady === undefined) return [];
  if (hasCause && now.notReady.includes('fleet view')) return [];
  return [finding('picker_not_ready', url, now.notReady)];
}

function checkPools(part: Part, pools: readonly Json[]): Finding[] {
  const found: Finding[] = [];
  const json = part.now.json('v1/pools');
  if (json !== undefined && pools.length === 0 && part.now.notReady === undefined) {
    const foreign = Object.entries((json.membership as Json | undefined)?.foreign ?? {});
    const seen = foreign.map(([pool, why]) => `${pool} (${textOf(why)})`).join(', ');
    const evidence = seen === '' ? 'it knows no pool' : `it leaves to others: ${seen}`;
    found.push(finding('picker_serves_no_pool', part.url, evidence));
  }
  for (const pool of pools) {
    const where = `pool ${textOf(pool.pool)}`;
    const reasons = Array.isArray(pool.reasons) ? pool.reasons.map(textOf).join('; ') : '';
    if (pool.endpoints === 0) {
      found.push(finding('pool_without_members', where, reasons || 'it has no endpoint'));
    }
    const { count, destinations } = portsOf(pool);
    if (count > 0) {
      const evidence = `${count} ports never answered: ${destinations.slice(0, 4).join(', ')}`;
      found.push(finding('ports_never_answered', where, evidence));
    }
  }
  const gauges: readonly [string, FaultName, string][] = [
    ['pool_saturated', 'pool_saturated', 'every fresh endpoint of it is saturated'],
    [
      'pool_slow_reports',
      'thresholds_contradict',
      'members are scraped less often than numbers are trusted',
    ],
  ];
  for (const [gauge, name, evidence] of gauges) {
    for (const { labels, value } of part.now.metrics.all(`leadsman_picker_${gauge}`)) {
      const was = part.before.metrics.value(`leadsman_picker_${gauge}`, labels);
      if (value > 0 && was > 0) found.push(finding(name, `pool ${labels.pool ?? ''}`, evidence));
    }
  }
  return found;
}

function portsOf({ neverAnswered }: Json): { count: number; destinations: string[] } {
  const { count = 0, destinations = [] } = (neverAnswered ?? {}) as Json;
  const list = Array.isArray(destinations) ? destinations.map(textOf) : [];
  return { count: typeof count === 'number' ? count : 0, destinations: list };
}

/** What happened between the two looks. */
function checkCounters(part: Part): Finding[] {
  const risen: readonly [FaultName, string, string][] = [
    ['workers_restart', 'worker_restarts_total', 'worker processes were started again'],
    ['workers_restart', 'collector_restarts_total', 'collector processes were started again'],
    ['gateway_speaks_no_tls', 'tls_failures_total', 'TLS handshakes failed'],
    [
      'gateway_ignores_picks',
      'served_elsewhere_total',
      'answers came from another endpoint than the picked',
    ],
    ['gateway_drops_picks', 'streams_refused_total', 'calls were refused: the picker is full'],
    ['view_full', 'endpoints_dropped_total', 'members are beyond --endpoints-max'],
  ];
  return risen.flatMap(([name, counter, what]) => {
    const gained = gain(part, `leadsman_picker_${counter}`);
    return gained === 0 ? [] : [finding(name, part.url, `${gained} ${what} between two looks`)];
  });
}

function checkWatches(part: Part): Finding[] {
  const membership = part.now.json('v1/pools')?.membership as Json | undefined;
  // Objectives are optional: their CRD need not be there.
  return objectsOf(membership?.watches)
    .filter((watch) => watch.reason !== undefined && watch.resource !== 'inferenceobjectives')
    .map((watch) => {
      const what = `${textOf(watch.resource)} of ${textOf(watch.namespace) || 'all namespaces'}`;
      return finding(
        'membership_unwatched',
        part.url,
        `${what}: ${textOf(watch.reason)} ${textOf(watch.message)}`,
      );
    });
}
