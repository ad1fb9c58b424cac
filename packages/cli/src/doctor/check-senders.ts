/** Agents, sidecars and engines themselves. */
import { PageReader } from '@leadsman/scrape';
import { faultOf } from './check-endpoints.ts';
import { gain, type Json, objectsOf, type Part, textOf } from './evidence.ts';
import { type Finding, finding } from './finding.ts';

export function checkAgent(part: Part): Finding[] {
  const { before, now, url } = part;
  const found: Finding[] = [];
  if (before.notReady !== undefined && now.notReady !== undefined) {
    found.push(finding('agent_without_way', url, now.notReady));
  }
  for (const { labels } of now.metrics.all('leadsman_node_agent_refused_frames_total')) {
    const gained = gain(part, 'leadsman_node_agent_refused_frames_total', labels);
    // Without a way onward it refuses as well: that is told above.
    if (gained === 0 || labels.reason === 'stalled') continue;
    found.push(finding('agent_refuses_reports', url, `${gained} frames refused: ${labels.reason}`));
  }
  return found;
}

export function checkSidecar(part: Part): Finding[] {
  const json = part.now.json('snapshot');
  if (json === undefined) return [];
  const { mode, path, agentOutcome } = (json.exporter ?? {}) as Json;
  const found: Finding[] = [];
  const outcome = textOf(agentOutcome);
  const wasUnheard = ((part.before.json('snapshot')?.exporter ?? {}) as Json).path === 'none';
  if (mode === 'node' && /^(unreachable|timeout)$/.test(outcome)) {
    found.push(finding('agent_absent', part.url, `mode node, and the agent is ${outcome}`));
  } else if (outcome === 'peer' || outcome === 'refused') {
    found.push(finding('agent_refuses_reports', part.url, `the agent answers: ${outcome}`));
  } else if (path === 'none' && wasUnheard) {
    const evidence = `its reports go nowhere (mode ${textOf(mode)}, agent: ${outcome || 'not asked'})`;
    found.push(finding('sidecar_unheard', part.url, evidence));
  }
  const isWell = (target: Json) =>
    textOf(target.reason) === 'ok' && textOf(target.state) !== 'suspect';
  const earlier = objectsOf(part.before.json('snapshot')?.targets);
  const targets = objectsOf(json.targets).filter((target) => {
    const before = earlier.find(({ port }) => port === target.port);
    return !isWell(target) && before !== undefined && !isWell(before);
  });
  return [...found, ...targets.map(faultOf)];
}

export function checkEngine({ url, now }: Part): Finding[] {
  const { metricsStatus: status, metricsText } = now;
  const where = `engine ${url}`;
  if (status === 401 || status === 403) {
    return [finding('engine_wants_token', where, `its page answers ${status}`)];
  }
  if (status !== 200) return [finding('engine_page_unusable', where, `its page answers ${status}`)];
  const reader = new PageReader();
  const page = Buffer.from(metricsText);
  const engine = reader.detect(page);
  if (engine === undefined) {
    const near = reader.near(page)[0];
    const evidence = `a page of ${page.length} bytes without a series of a known engine`;
    const comes = near === undefined ? '' : `; comes close to ${near.engine}`;
    return [finding('engine_without_series', where, evidence + comes)];
  }
  const { outcome, detail } = reader.explain(page, engine);
  return outcome === 'ok' ? [] : [finding('engine_page_unusable', where, `${outcome}: ${detail}`)];
}
