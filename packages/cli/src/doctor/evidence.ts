/**
 * What the processes say, asked twice: what was in trouble both times is a fault, and what a
 * counter gained between is happening now. What each process is, is told by its own pages.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, type AskSettings, ask, isAnswer } from '../ask/ask.ts';
import { MetricsPage } from './exposition.ts';

export const partKinds = [
  'picker',
  'collector',
  'agent',
  'sidecar',
  'injector',
  'nats',
  'gateway',
  'engine',
] as const;

export type PartKind = (typeof partKinds)[number];

/** An address to ask; `kind` where the user named it. */
export interface PartAddress {
  base: URL;
  kind: PartKind | undefined;
}

export type Json = Record<string, unknown>;

/** One look at one process. Pages that it does not have, or that are not JSON, are undefined. */
interface PartLook {
  metrics: MetricsPage;
  metricsText: string;
  metricsStatus: number;
  /** What `/readyz` (NATS: `/healthz`) answers: `undefined` when it is ready. */
  notReady: string | undefined;
  json(path: string): Json | undefined;
  /** Paths that were refused for want of a token. */
  refused: readonly string[];
}

export interface Part {
  url: string;
  /** `undefined`: not recognised, or it did not answer and nobody said what it is. */
  kind: PartKind | undefined;
  version: string;
  /** Why there was no answer; both looks are then empty. */
  problem: string | undefined;
  before: PartLook;
  now: PartLook;
}

const pages: Readonly<Record<PartKind, readonly string[]>> = {
  picker: ['v1/pools', 'v1/endpoints'],
  collector: ['v1/endpoints'],
  agent: ['v1/targets'],
  sidecar: ['snapshot'],
  injector: [],
  nats: ['varz'],
  gateway: ['config_dump', 'stats?format=json', 'server_info'],
  engine: [],
};

/** Looks at all, waits, and looks again. */
export async function gather(
  addresses: readonly PartAddress[],
  settings: AskSettings,
  intervalMs: number,
): Promise<Part[]> {
  const first = await Promise.all(addresses.map((address) => lookAt(address, settings)));
  await delay(intervalMs);
  return Promise.all(
    addresses.map(async ({ base }, i) => {
      const { kind, look: before } = first[i]!;
      const again = await lookAt({ base, kind }, settings);
      const { look: now, version, problem } = again;
      return { url: shown(base), kind: again.kind, version, problem, before, now };
    }),
  );
}

interface Looked {
  kind: PartKind | undefined;
  version: string;
  problem: string | undefined;
  look: PartLook;
}

async function lookAt({ base, kind }: PartAddress, settings: AskSettings): Promise<Looked> {
  const metrics = await ask(base, 'metrics', settings);
  if (!isAnswer(metrics)) {
    return {
      kind,
      version: '',
      problem: metrics.problem,
      look: lookOf('', 0, new Map(), undefined, []),
    };
  }
  const text = metrics.status === 200 ? metrics.text : '';
  const is = kind ?? (await recognise(base, settings, metrics));
  const texts = new Map<string, string>();
  const refused: string[] = [];
  for (const path of is === undefined ? [] : pages[is]) {
    const answer = await ask(base, path, settings);
    if (!isAnswer(answer)) continue;
    if (answer.status === 200) texts.set(path, answer.text);
    else if (answer.status === 401 || answer.status === 403) refused.push(path);
  }
  const notReady = await readinessOf(is, base, settings);
  const look = lookOf(text, metrics.status, texts, notReady, refused);
  return { kind: is, version: metrics.version, problem: undefined, look };
}

async function recognise(
  base: URL,
  settings: AskSettings,
  metrics: Answer,
): Promise<PartKind | undefined> {
  const text = metrics.status === 200 ? metrics.text : '';
  const marks: readonly [RegExp, PartKind][] = [
    [/^leadsman_picker_ready /m, 'picker'],
    [/^leadsman_sidecar_/m, 'sidecar'],
    [/^leadsman_node_agent_/m, 'agent'],
    [/^leadsman_injector_/m, 'injector'],
    [/^leadsman_collector_/m, 'collector'],
  ];
  for (const [mark, kind] of marks) if (mark.test(text)) return kind;
  const [nats, envoy] = await Promise.all(
    ['varz', 'server_info'].map((path) => ask(base, path, settings)),
  );
  if (isAnswer(nats!) && parsed(nats.text)?.server_id !== undefined) return 'nats';
  if (isAnswer(envoy!) && parsed(envoy.text)?.state !== undefined) return 'gateway';
  // Of all parts only engines keep their metrics to themselves.
  const isClosed = metrics.status === 401 || metrics.status === 403;
  return isClosed || /^# (HELP|TYPE) /m.test(text) ? 'engine' : undefined;
}

/** Only pickers and collectors say more than that they run; an agent says whether it has a way. */
async function readinessOf(
  kind: PartKind | undefined,
  base: URL,
  settings: AskSettings,
): Promise<string | undefined> {
  if (kind === undefined || kind === 'engine' || kind === 'gateway') return undefined;
  const answer = await ask(base, kind === 'nats' ? 'healthz' : 'readyz', settings);
  if (!isAnswer(answer)) return answer.problem;
  return answer.status === 200 ? undefined : answer.text.split('\n', 1)[0] || `${answer.status}`;
}

function lookOf(
  metricsText: string,
  metricsStatus: number,
  texts: ReadonlyMap<string, string>,
  notReady: string | undefined,
  refused: readonly string[],
): PartLook {
  const json = (path: string) => parsed(texts.get(path) ?? '');
  const metrics = new MetricsPage(metricsText);
  return { metrics, metricsText, metricsStatus, notReady, json, refused };
}

function parsed(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

function shown(base: URL): string {
  return base.href.replace(/\/$/, '');
}

/** What a counter gained between the looks; 0 where it is not there or the process restarted. */
export function gain(
  part: Part,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const gained = part.now.metrics.value(name, labels) - part.before.metrics.value(name, labels);
  // NaN where the series is not there.
  return Number.isNaN(gained) ? 0 : Math.max(0, gained);
}

/** Objects of an array in JSON of others. */
export function objectsOf(value: unknown): Json[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item) => typeof item === 'object' && item !== null);
}

/** Text of a JSON value, for evidence. */
export function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
