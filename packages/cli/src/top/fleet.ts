/**
 * What `top` shows, gathered from the answers of one or several pickers (replicas) or a collector.
 *
 * Each replica has a view of its own and counts its own requests: of an endpoint that several
 * know, the freshest numbers are taken, and what is in flight and picked is added up. A collector
 * knows neither, nor pools: that is `null`, not 0.
 */
export interface EndpointRow {
  /** '' at a collector. */
  pool: string;
  /** `address:port`. */
  destination: string;
  /** Name of the pod, with the port where its pod has several; the destination where it is unknown. */
  name: string;
  namespace: string;
  node: string;
  engine: string;
  models: readonly string[];
  state: string;
  /** Why the latest scrape failed, or `ok`; '' when nothing ever came. */
  reason: string;
  ageMs: number | null;
  running: number | null;
  waiting: number | null;
  /** 0 to 1, of the fullest rank. */
  kvUsage: number | null;
  inFlight: number | null;
  /** Since the start of the pickers. */
  picks: number | null;
  picksPerS: number | null;
}

export interface PoolRow {
  pool: string;
  endpoints: number;
  fresh: number;
  /** Sums of what is known; `null` when nothing is. */
  running: number | null;
  waiting: number | null;
  inFlight: number | null;
  picksPerS: number | null;
  /** Why there are fewer endpoints than one may expect. */
  reasons: readonly string[];
}

/** One process that was asked. */
export interface SourceRow {
  url: string;
  /** `ready`, or what it says is missing, or why it did not answer. */
  text: string;
  ok: boolean;
}

export interface Fleet {
  sources: readonly SourceRow[];
  pools: readonly PoolRow[];
  endpoints: readonly EndpointRow[];
}

/** The JSON of `/v1/endpoints` and `/v1/pools` of one process. */
export interface SourceJson {
  endpoints: readonly Record<string, unknown>[];
  /** Undefined at a collector. */
  pools: readonly Record<string, unknown>[] | undefined;
}

/** Rows of one look. `before` and `elapsedMs`: the look before, for what happens per second. */
export function fleetOf(
  sources: readonly SourceRow[],
  jsons: readonly SourceJson[],
  before?: Fleet,
  elapsedMs = Number.NaN,
): Fleet {
  const rows = new Map<string, EndpointRow>();
  for (const { endpoints } of jsons) {
    for (const json of endpoints) {
      const row = rowOf(json);
      const key = keyOf(row);
      const other = rows.get(key);
      rows.set(key, other === undefined ? row : merged(other, row));
    }
  }
  const known = new Map(before?.endpoints.map((row) => [keyOf(row), row]));
  const endpoints = [...rows.values()];
  const ports = new Map<string, Set<string>>();
  for (const row of endpoints) {
    const key = `${row.namespace}/${row.name}`;
    ports.set(key, (ports.get(key) ?? new Set()).add(row.destination));
    row.picksPerS = rate(row.picks, known.get(keyOf(row))?.picks, elapsedMs);
  }
  for (const row of endpoints) {
    const isOneOfSeveral = (ports.get(`${row.namespace}/${row.name}`)?.size ?? 0) > 1;
    if (isOneOfSeveral) row.name += row.destination.slice(row.destination.lastIndexOf(':'));
  }
  return { sources, endpoints, pools: poolsOf(jsons, endpoints) };
}

function keyOf({ pool, destination }: EndpointRow): string {
  return `${pool} ${destination}`;
}

function rowOf(json: Record<string, unknown>): EndpointRow {
  const destination = textOf(json.destination);
  return {
    pool: textOf(json.pool),
    destination,
    name: textOf(json.podName) || destination,
    namespace: textOf(json.namespace),
    node: textOf(json.nodeName),
    engine: textOf(json.engine),
    models: Array.isArray(json.models) ? json.models.map(textOf) : [],
    state: textOf(json.state) || 'unknown',
    reason: textOf(json.reason),
    ageMs: numberOf(json.ageMs),
    running: numberOf(json.runningRequests),
    waiting: numberOf(json.waitingRequests),
    kvUsage: numberOf(json.kvCacheUsageMaxRatio) ?? numberOf(json.kvCacheUsageRatio),
    inFlight: numberOf(json.inFlight),
    picks: numberOf(json.picks),
    picksPerS: null,
  };
}

function merged(a: EndpointRow, b: EndpointRow): EndpointRow {
  const [fresher] = [a, b].sort(
    (one, other) => (one.ageMs ?? Infinity) - (other.ageMs ?? Infinity),
  );
  return { ...fresher!, inFlight: sum([a.inFlight, b.inFlight]), picks: sum([a.picks, b.picks]) };
}

function poolsOf(jsons: readonly SourceJson[], endpoints: readonly EndpointRow[]): PoolRow[] {
  const reasons = new Map<string, Set<string>>();
  for (const { pools } of jsons) {
    for (const json of pools ?? []) {
      const name = textOf(json.pool);
      const said = Array.isArray(json.reasons) ? json.reasons.map(textOf) : [];
      reasons.set(name, new Set([...(reasons.get(name) ?? []), ...said]));
    }
  }
  const members = Map.groupBy(endpoints, (row) => row.pool);
  for (const name of members.keys()) if (!reasons.has(name)) reasons.set(name, new Set());
  return [...reasons]
    .map(([pool, said]) => {
      const rows = members.get(pool) ?? [];
      return {
        pool,
        endpoints: rows.length,
        fresh: rows.filter((row) => row.state === 'fresh').length,
        running: sum(rows.map((row) => row.running)),
        waiting: sum(rows.map((row) => row.waiting)),
        inFlight: sum(rows.map((row) => row.inFlight)),
        picksPerS: sum(rows.map((row) => row.picksPerS)),
        reasons: [...said],
      };
    })
    .sort((a, b) => (a.pool < b.pool ? -1 : 1));
}

/** Per second; unknown for an endpoint that is new, and for counters that fell (a restart). */
function rate(now: number | null, before: number | null | undefined, ms: number): number | null {
  if (now === null || before === null || before === undefined) return null;
  return now >= before && ms > 0 ? ((now - before) / ms) * 1_000 : null;
}

function sum(numbers: readonly (number | null)[]): number | null {
  let total: number | null = null;
  for (const number of numbers) if (number !== null) total = (total ?? 0) + number;
  return total;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** Without control characters: a name must not be able to write to a terminal. */
function textOf(value: unknown): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return typeof value === 'string' ? value.replace(/[\u0000-\u001f\u007f-\u009f]/g, '') : '';
}
