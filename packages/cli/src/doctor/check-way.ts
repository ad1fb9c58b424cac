/** NATS by its monitoring port, and Envoy by its admin page. */
import { type Json, objectsOf, type Part, textOf } from './evidence.ts';
import { type FaultName, type Finding, finding } from './finding.ts';

export function checkNats({ url, before, now }: Part): Finding[] {
  const found: Finding[] = [];
  if (now.notReady !== undefined) found.push(finding('nats_unhealthy', url, now.notReady));
  const slow =
    Number(now.json('varz')?.slow_consumers) - Number(before.json('varz')?.slow_consumers);
  if (slow > 0) found.push(finding('nats_slow_consumer', url, `${slow} cut off between two looks`));
  return found;
}

const filterType = /\.ext_proc\.v3\.ExternalProcessor$/;

export function checkGateway(part: Part): Finding[] {
  const { url, now } = part;
  const state = textOf(now.json('server_info')?.state);
  const found: Finding[] = [];
  if (state !== 'LIVE')
    found.push(finding('gateway_not_live', url, `it says ${state || 'nothing'}`));
  const filters = filtersIn(now.json('config_dump'));
  if (now.json('config_dump') !== undefined && filters.length === 0) {
    found.push(finding('gateway_without_ext_proc', url, 'no ext_proc filter in its configuration'));
  }
  const modes = new Set(filters.map((filter) => JSON.stringify(filter.processing_mode ?? {})));
  for (const mode of modes) found.push(...modeFaults(url, JSON.parse(mode)));
  const clusters = new Set(filters.map(clusterOf).filter((name) => name !== ''));
  const stats = {
    before: statsOf(part.before.json('stats?format=json')),
    now: statsOf(now.json('stats?format=json')),
  };
  for (const cluster of clusters) found.push(...clusterFaults(url, cluster, stats));
  return [...found, ...filterFaults(url, stats)];
}

/** Not stated is NONE for bodies. */
function modeFaults(url: string, mode: Json): Finding[] {
  const found: Finding[] = [];
  const isNone = (value: unknown) => value === undefined || value === 'NONE';
  if (isNone(mode.request_body_mode)) {
    found.push(finding('request_body_none', url, 'request_body_mode is NONE'));
  }
  if (isNone(mode.response_body_mode)) {
    const evidence = 'response_body_mode is NONE: first tokens and token counts are not seen';
    found.push(finding('response_body_none', url, evidence));
  }
  return found;
}

interface TwoStats {
  before: ReadonlyMap<string, number>;
  now: ReadonlyMap<string, number>;
}

function clusterFaults(url: string, cluster: string, { before, now }: TwoStats): Finding[] {
  const at = (name: string) => now.get(`cluster.${cluster}.${name}`) ?? Number.NaN;
  const found: Finding[] = [];
  if (at('membership_healthy') === 0) {
    const evidence = `cluster ${cluster} has no healthy picker (${at('membership_total')} known)`;
    found.push(finding('gateway_without_picker', url, evidence));
  }
  const name = `cluster.${cluster}.upstream_rq_pending_overflow`;
  const overflow = (now.get(name) ?? 0) - (before.get(name) ?? 0);
  if (overflow > 0 || at('circuit_breakers.default.rq_open') === 1) {
    found.push(
      finding('gateway_drops_picks', url, `circuit breaker of cluster ${cluster} is open`),
    );
  }
  return found;
}

function filterFaults(url: string, { before, now }: TwoStats): Finding[] {
  const rising: readonly [string, FaultName][] = [
    ['streams_failed', 'ext_proc_fails'],
    ['message_timeouts', 'ext_proc_fails'],
    ['failure_mode_allowed', 'ext_proc_fails'],
    ['rejected_header_mutations', 'gateway_ignores_picks'],
  ];
  return rising.flatMap(([what, fault]) => {
    let gained = 0;
    for (const [name, value] of now) {
      const isMeant = name.includes('.ext_proc.') && name.endsWith(`.${what}`);
      if (isMeant) gained += Math.max(0, value - (before.get(name) ?? value));
    }
    return gained === 0 ? [] : [finding(fault, url, `${what} rose by ${gained} between two looks`)];
  });
}

/** Every ext_proc filter, wherever in the configuration it is. */
function filtersIn(value: unknown): Json[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.values(value).flatMap(filtersIn);
  return filterType.test(textOf((value as Json)['@type'])) ? [value as Json, ...inside] : inside;
}

function clusterOf({ grpc_service: service }: Json): string {
  return textOf(((service as Json | undefined)?.envoy_grpc as Json | undefined)?.cluster_name);
}

function statsOf(json: Json | undefined): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const { name, value } of objectsOf(json?.stats)) {
    if (typeof name === 'string' && typeof value === 'number') numbers.set(name, value);
  }
  return numbers;
}
