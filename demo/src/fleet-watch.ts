/**
 * What the picker knows, asked several times a second over its admin port: the rows of the table,
 * and the ages of the reports for the freshness that is stated at the end.
 */
import type { EngineProcess } from '@leadsman/testing';

/** One endpoint as the picker's `/v1/endpoints` tells it; numbers are null when unknown. */
export interface EndpointRow {
  endpoint: string;
  podName: string;
  nodeName: string;
  state: string;
  ageMs: number | null;
  running: number | null;
  waiting: number | null;
  kvCacheUsageRatio: number | null;
  /** Requests that reached this engine in the present phase. */
  picks: number;
}

/** Between two looks. Not a divisor of the scrape interval, so that all ages are met alike. */
const lookMs = 130;

export class FleetWatch {
  readonly #adminUrl: () => string;
  readonly #engines: Pick<EngineProcess, 'engines' | 'state'>;
  readonly #ages: number[] = [];
  #rows: readonly EndpointRow[] = [];
  #served: readonly number[] = [];
  #servedBefore: readonly number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #recording = false;
  #looking = false;

  constructor(adminUrl: () => string, engines: Pick<EngineProcess, 'engines' | 'state'>) {
    this.#adminUrl = adminUrl;
    this.#engines = engines;
  }

  /** As of the last look, in the order of the pods. */
  get rows(): readonly EndpointRow[] {
    return this.#rows;
  }

  /** Ages (ms) of every endpoint's report at every look while recording. */
  get ages(): readonly number[] {
    return this.#ages;
  }

  /** Picks of the present phase by the engines' position. */
  get picks(): readonly number[] {
    return this.#served.map((count, i) => count - (this.#servedBefore[i] ?? 0));
  }

  start(onLook: () => void): void {
    this.#timer = setInterval(() => {
      if (this.#looking) return;
      this.#looking = true;
      this.look().then(
        () => {
          this.#looking = false;
          onLook();
        },
        // The picker is being replaced, or everything is being stopped.
        () => {
          this.#looking = false;
        },
      );
    }, lookMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Counts picks from 0 again and records ages until {@link endPhase}. */
  async beginPhase(): Promise<void> {
    await this.look();
    this.#servedBefore = this.#served;
    this.#recording = true;
  }

  endPhase(): void {
    this.#recording = false;
  }

  /** Asks once. Rejects when the picker does not answer. */
  async look(): Promise<void> {
    const [{ engines }, response] = await Promise.all([
      this.#engines.state(),
      fetch(`${this.#adminUrl()}/v1/endpoints`, { signal: AbortSignal.timeout(2_000) }),
    ]);
    const body = (await response.json()) as { endpoints: PickerEndpoint[] };
    this.#served = engines.map((engine) => engine.served);
    const picks = this.picks;
    const byAddress = new Map(body.endpoints.map((each) => [`${each.address}:${each.port}`, each]));
    this.#rows = this.#engines.engines.map(({ host, port }, i) =>
      toRow(`${host}:${port}`, byAddress.get(`${host}:${port}`), picks[i] ?? 0),
    );
    if (!this.#recording) return;
    for (const { ageMs } of this.#rows) if (ageMs !== null) this.#ages.push(ageMs);
  }
}

interface PickerEndpoint {
  address: string;
  port: number;
  podName?: string;
  nodeName?: string;
  state?: string;
  ageMs?: number | null;
  runningRequests?: number | null;
  waitingRequests?: number | null;
  kvCacheUsageRatio?: number | null;
}

function toRow(endpoint: string, known: PickerEndpoint | undefined, picks: number): EndpointRow {
  return {
    endpoint,
    podName: known?.podName ?? '',
    nodeName: known?.nodeName ?? '',
    state: known?.state ?? 'unknown',
    ageMs: known?.ageMs ?? null,
    running: known?.runningRequests ?? null,
    waiting: known?.waitingRequests ?? null,
    kvCacheUsageRatio: known?.kvCacheUsageRatio ?? null,
    picks,
  };
}
