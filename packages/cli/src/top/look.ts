/** One look of `top`: what each process answers now. */
import { type AskSettings, ask, isAnswer, jsonOf } from '../ask/ask.ts';
import { type Fleet, fleetOf, type SourceJson, type SourceRow } from './fleet.ts';

/** A fleet and when it was seen. */
export interface Look {
  fleet: Fleet;
  /** Monotonic, ms. */
  atMs: number;
}

/** Asks all at once. A process that does not answer is a row of its own; never rejects. */
export async function look(
  bases: readonly URL[],
  settings: AskSettings,
  nowMs: () => number,
  before?: Look,
): Promise<Look> {
  const answers = await Promise.all(bases.map((base) => askOne(base, settings)));
  const atMs = nowMs();
  const jsons = answers.flatMap(({ json }) => (json === undefined ? [] : [json]));
  const sources = answers.map(({ source }) => source);
  const elapsedMs = before === undefined ? Number.NaN : atMs - before.atMs;
  return { fleet: fleetOf(sources, jsons, before?.fleet, elapsedMs), atMs };
}

async function askOne(
  base: URL,
  settings: AskSettings,
): Promise<{ source: SourceRow; json?: SourceJson }> {
  const [readyz, endpoints, pools] = await Promise.all(
    ['readyz', 'v1/endpoints', 'v1/pools'].map((path) => ask(base, path, settings)),
  );
  const url = base.href.replace(/^http:\/\//, '').replace(/\/$/, '');
  const read = jsonOf(endpoints!);
  if ('problem' in read) return { source: { url, text: read.problem, ok: false } };
  const list = listOf(read.json.endpoints);
  if (list === undefined) {
    return { source: { url, text: 'neither a picker nor a collector', ok: false } };
  }
  const poolsJson = jsonOf(pools!);
  const json = {
    endpoints: list,
    pools: 'json' in poolsJson ? listOf(poolsJson.json.pools) : undefined,
  };
  const isReady = isAnswer(readyz!) && readyz.status === 200;
  const missing = isAnswer(readyz!) ? readyz.text.split('\n', 1)[0]! : readyz!.problem;
  return { source: { url, text: isReady ? 'ready' : missing, ok: isReady }, json };
}

function listOf(value: unknown): Record<string, unknown>[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter((item) => typeof item === 'object' && item !== null);
}
