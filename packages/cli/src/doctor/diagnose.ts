/** From evidence to faults: each part by itself, then what only shows beside one another. */
import { checkEndpoints } from './check-endpoints.ts';
import { checkFeed, checkView } from './check-feed.ts';
import { checkPicker } from './check-picker.ts';
import { checkAgent, checkEngine, checkSidecar } from './check-senders.ts';
import { checkGateway, checkNats } from './check-way.ts';
import type { Part } from './evidence.ts';
import { type Finding, finding } from './finding.ts';

/** Faults in the order of the parts; one that several parts tell is told once. */
export function diagnose(parts: readonly Part[]): Finding[] {
  const found = [...parts.flatMap(checkPart), ...checkVersions(parts), ...checkReplicas(parts)];
  const told = new Set<string>();
  return found.filter(({ name, where }) => {
    const key = `${name} ${where}`;
    return !told.has(key) && told.add(key);
  });
}

function checkPart(part: Part): Finding[] {
  const { kind, url, problem, now } = part;
  if (problem !== undefined) {
    if (kind === 'engine') return [finding('engine_dead', `engine ${url}`, problem)];
    return [finding('not_reachable', kind === undefined ? url : `${kind} ${url}`, problem)];
  }
  const refused = now.refused.map((path) => finding('wants_token', url, `/${path} refuses us`));
  switch (kind) {
    case undefined:
      return [finding('not_recognised', url, 'it answers, and not like a part of the way')];
    case 'picker':
      return [...refused, ...checkPicker(part)];
    case 'collector': {
      const feed = checkFeed(part);
      return [...refused, ...feed, ...checkView(part), ...checkEndpoints(part, feed.length === 0)];
    }
    case 'agent':
      return [...refused, ...checkAgent(part)];
    case 'sidecar':
      return [...refused, ...checkSidecar(part)];
    case 'nats':
      return checkNats(part);
    case 'gateway':
      return checkGateway(part);
    case 'engine':
      return checkEngine(part);
    case 'injector':
      return [];
  }
}

function checkVersions(parts: readonly Part[]): Finding[] {
  const ours = parts.filter(({ kind, version }) => kind !== 'engine' && version !== '');
  const byVersion = Map.groupBy(ours, ({ version }) => version);
  if (byVersion.size < 2) return [];
  const evidence = [...byVersion]
    .map(
      ([version, group]) =>
        `${version}: ${group.map(({ kind, url }) => `${kind} ${url}`).join(', ')}`,
    )
    .join('; ');
  return [finding('version_skew', 'all processes', evidence)];
}

/** Pickers over NATS hear of each other; `parts` need not be all of them. */
function checkReplicas(parts: readonly Part[]): Finding[] {
  const pickers = parts.filter(
    ({ kind, now }) =>
      kind === 'picker' && now.metrics.value('leadsman_picker_nats_connected') === 1,
  );
  return pickers.flatMap(({ url, now }) => {
    const heard = now.metrics.value('leadsman_picker_replicas');
    if (!(heard < pickers.length - 1)) return [];
    return [
      finding('replicas_apart', url, `hears of ${heard} other replicas, of ${pickers.length - 1}`),
    ];
  });
}
