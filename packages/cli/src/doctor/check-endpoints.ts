/** Endpoints as a picker, collector or sidecar tells them: which are in trouble, and by whom. */
import { type Json, objectsOf, type Part, textOf } from './evidence.ts';
import { type FaultName, type Finding, finding } from './finding.ts';

/** Reasons of a scrape that name their cause; the others mean that the page is unusable. */
const byReason: Readonly<Record<string, FaultName>> = {
  connect: 'engine_dead',
  timeout: 'engine_dead',
  unauthorized: 'engine_wants_token',
  no_series: 'engine_without_series',
};

const quiet = new Set(['fresh', 'sleeping']);

/** `isFedBy`: false when the whole feed is lost, and silence has its cause told already. */
export function checkEndpoints(part: Part, isFed: boolean): Finding[] {
  const before = new Map(endpointsOf(part.before.json('v1/endpoints')).map((e) => [keyOf(e), e]));
  const troubled = endpointsOf(part.now.json('v1/endpoints')).filter((endpoint) => {
    const earlier = before.get(keyOf(endpoint));
    const wasWell = earlier === undefined || quiet.has(textOf(earlier.state));
    return !wasWell && !quiet.has(textOf(endpoint.state));
  });
  const silent = troubled.filter(isSilent);
  const found = troubled.filter((endpoint) => !isSilent(endpoint)).map(faultOf);
  return isFed ? [...found, ...silence(silent, part)] : found;
}

/** Ports that the picker says never answered are told by their pool. */
export function withoutPorts(found: readonly Finding[], told: ReadonlySet<string>): Finding[] {
  return found.filter(({ name, where }) => {
    return name !== 'engine_dead' || ![...told].some((port) => where.includes(`(${port})`));
  });
}

/** One of an endpoint whose scrapes fail, or which never had one. */
export function faultOf(endpoint: Json): Finding {
  const reason = textOf(endpoint.reason);
  const where = placeOf(endpoint);
  const detail = textOf(endpoint.detail);
  const evidence = `${textOf(endpoint.state)}, ${ageText(endpoint)}, latest scrape: ${reason}`;
  if (textOf(endpoint.state) === 'suspect') {
    return finding('engine_hangs', where, 'it claims work, and none of its token counters moves');
  }
  if (reason === '') return finding('never_reported', where, 'no report of it has ever come');
  const name = byReason[reason] ?? 'engine_page_unusable';
  return finding(name, where, detail === '' ? evidence : `${evidence} (${detail})`);
}

/** Good when it was last scraped, and nothing has come since. */
function isSilent(endpoint: Json): boolean {
  return textOf(endpoint.state) === 'stale' && textOf(endpoint.reason) === 'ok';
}

/** Told by node where a whole node is silent. */
function silence(silent: readonly Json[], part: Part): Finding[] {
  const all = endpointsOf(part.now.json('v1/endpoints'));
  const onNode = (list: readonly Json[], node: string) =>
    list.filter((endpoint) => textOf(endpoint.nodeName) === node).length;
  const found: Finding[] = [];
  const told = new Set<string>();
  for (const endpoint of silent) {
    const node = textOf(endpoint.nodeName);
    const count = onNode(silent, node);
    if (node === '' || count < 2 || count < onNode(all, node)) {
      found.push(
        finding(
          'sidecar_silent',
          placeOf(endpoint),
          `stale, ${ageText(endpoint)}; its last scrape was good`,
        ),
      );
    } else if (!told.has(node)) {
      told.add(node);
      found.push(
        finding('node_silent', `node ${node}`, `nothing comes from any of its ${count} endpoints`),
      );
    }
  }
  return found;
}

function endpointsOf(json: Json | undefined): Json[] {
  return objectsOf(json?.endpoints);
}

function keyOf(endpoint: Json): string {
  return `${textOf(endpoint.pool)} ${textOf(endpoint.destination)}`;
}

function placeOf(endpoint: Json): string {
  const destination =
    textOf(endpoint.destination) || `${textOf(endpoint.address)}:${textOf(endpoint.port)}`;
  const pod = textOf(endpoint.podName);
  return pod === '' ? `(${destination})` : `pod ${pod} (${destination})`;
}

function ageText({ ageMs }: Json): string {
  return typeof ageMs === 'number' ? `numbers ${(ageMs / 1_000).toFixed(1)} s old` : 'no numbers';
}
