/**
 * A server that behaves like vLLM's: OpenAI-compatible completions on top of the engine model, and
 * the metrics page. Several run in one process, each on its own address; a node of four under load
 * costs a fraction of a core.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EngineParameters } from '../engine-model/parameters.ts';
import { CompletionHandler, sendError } from './completion-handler.ts';
import { type EngineFaults, noFaults } from './faults.ts';
import { formatLabels } from './labels.ts';
import { MetricsHandler } from './metrics-handler.ts';
import { type MetricsGeneration, MetricsPage } from './metrics-page.ts';
import { adapterSetsMax, newPageState, type PageState } from './page-state.ts';
import { Rank } from './rank.ts';
import { namesAsked } from './select-series.ts';

export interface EngineSimulatorOptions {
  /** Default 127.0.0.1; any address of 127.0.0.0/8 makes a pod of its own. */
  host?: string;
  /** 0, the default: chosen by the system. */
  port?: number;
  modelName?: string;
  /** Data-parallel ranks behind the one server; default 1. */
  ranks?: number;
  /** Names on the metrics page; default v1. */
  metricsGeneration?: MetricsGeneration;
  /** What the engine model is given. */
  parameters?: Partial<EngineParameters>;
  /** 1 is as the parameters say, 0.25 a quarter of that. */
  speed?: number;
  /** Names of adapters that requests may ask for as their model. */
  adapters?: readonly string[];
  /** Adapters that may be loaded at once, as stated on the page; default 4. */
  adaptersMax?: number;
  /** Shows the sleep state and takes `/sleep` and `/wake_up`. */
  sleepMode?: boolean;
  /** Tokens per event of a stream; default 1. */
  streamTokens?: number;
  /** Busy time that each metrics page costs on top of our own, ms; default 0. */
  metricsRenderMs?: number;
  /** Monotonic clock, ms. */
  now?: () => number;
  /** Unix time, ms. */
  nowUnixMs?: () => number;
}

export const defaultSimulatedModel = 'leadsman/simulated-8b-instruct';

export interface EngineSimulator {
  readonly host: string;
  readonly port: number;
  /** `http://host:port` */
  readonly url: string;
  /** Change a member and it holds from then on. */
  readonly faults: EngineFaults;
  /** Completions accepted so far. */
  readonly served: number;
  /**
   * Requests for the metrics page, from the engine's own address and from any other; and those of
   * them that asked by name.
   */
  readonly scrapes: { readonly own: number; readonly foreign: number; readonly byName: number };
  readonly ranks: readonly Rank[];
  /** The metrics page as it is now. */
  page(): Buffer;
  setSpeed(speed: number): void;
  stop(): Promise<void>;
}

/** Resolves when the server listens. */
export async function startEngineSimulator(
  options: EngineSimulatorOptions = {},
): Promise<EngineSimulator> {
  const simulation = new Simulation(options);
  const { server, faults, ranks } = simulation;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve);
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    host: address,
    port,
    url: `http://${address}:${port}`,
    faults,
    ranks,
    get served() {
      return simulation.completions.served;
    },
    scrapes: simulation.scrapes,
    page: () => simulation.page.render(),
    setSpeed: (speed) => simulation.setSpeed(speed),
    stop: () => simulation.stop(),
  };
}

class Simulation {
  readonly server: Server;
  readonly ranks: readonly Rank[];
  readonly faults: EngineFaults;
  readonly page: MetricsPage;
  readonly completions: CompletionHandler;
  readonly scrapes = { own: 0, foreign: 0, byName: 0 };
  readonly #options: EngineSimulatorOptions;
  readonly #metrics: MetricsHandler;
  readonly #state: PageState;
  readonly #modelName: string;
  readonly #nowUnixMs: () => number;
  #speed: number;

  constructor(options: EngineSimulatorOptions) {
    this.#options = options;
    const now = options.now ?? (() => performance.now());
    this.#nowUnixMs = options.nowUnixMs ?? (() => performance.timeOrigin + performance.now());
    this.#modelName = options.modelName ?? defaultSimulatedModel;
    this.#speed = options.speed ?? 1;
    this.#state = newPageState(options.sleepMode ? 'awake' : undefined);
    const parameters = options.parameters ?? {};
    this.ranks = Array.from({ length: options.ranks ?? 1 }, () => new Rank(parameters, now));
    this.faults = this.#watchedFaults();
    this.page = new MetricsPage({
      generation: options.metricsGeneration ?? 'v1',
      modelName: this.#modelName,
      ranks: this.ranks,
      startedUnixMs: this.#nowUnixMs(),
      state: this.#state,
    });
    this.#metrics = new MetricsHandler(this.faults, this.page, options.metricsRenderMs ?? 0);
    this.completions = new CompletionHandler({
      modelName: this.#modelName,
      adapters: options.adapters ?? [],
      ranks: this.ranks,
      streamTokens: options.streamTokens ?? 1,
      faults: this.faults,
      nowUnixMs: this.#nowUnixMs,
      onAdapters: () => this.#noteAdapters(),
    });
    this.#noteAdapters();
    this.#applySpeed();
    this.server = createServer((request, response) => this.#route(request, response));
    this.server.keepAliveTimeout = 60_000;
  }

  setSpeed(speed: number): void {
    this.#speed = speed;
    this.#applySpeed();
  }

  async stop(): Promise<void> {
    for (const rank of this.ranks) rank.stop();
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.server.closeAllConnections();
    await closed;
  }

  /** Faults that take effect at once although nobody asks for them. */
  #watchedFaults(): EngineFaults {
    return new Proxy(noFaults(), {
      set: (target, name, value) => {
        Reflect.set(target, name, value);
        if (name === 'wedged') this.#applySpeed();
        return true;
      },
    });
  }

  #applySpeed(): void {
    for (const rank of this.ranks) rank.setSpeed(this.faults.wedged ? 0 : this.#speed);
  }

  #noteAdapters(): void {
    if ((this.#options.adapters ?? []).length === 0) return;
    const names = new Set<string>();
    for (const rank of this.ranks) for (const name of rank.adapters()) names.add(name);
    const labels = formatLabels({
      max_lora: String(this.#options.adaptersMax ?? 4),
      running_lora_adapters: [...names].sort().join(','),
      waiting_lora_adapters: '',
    });
    const { adapters } = this.#state;
    // A real engine keeps every combination it ever had; tests that need more are mistaken.
    if (adapters.size >= adapterSetsMax && !adapters.has(labels)) return;
    adapters.set(labels, this.#nowUnixMs() / 1000);
    this.#state.revision++;
  }

  #route(request: IncomingMessage, response: ServerResponse): void {
    const path = (request.url ?? '/').split('?', 1)[0]!;
    if (this.faults.closeAfterResponse) response.on('finish', () => request.socket.destroySoon());
    const sleep = this.#options.sleepMode === true;
    if (path === '/metrics' || path === '/metrics/') this.#scrape(request, response);
    else if (path === '/v1/chat/completions') this.#complete(request, response, path, true);
    else if (path === '/v1/completions') this.#complete(request, response, path, false);
    else if (path === '/health') response.writeHead(this.faults.healthStatus).end();
    else if (path === '/version') sendJson(response, { version: '0.11.0' });
    else if (path === '/v1/models') sendJson(response, this.#models());
    else if (sleep && path === '/sleep') this.#setSleep(response, 'weights_offloaded');
    else if (sleep && path === '/wake_up') this.#setSleep(response, 'awake');
    else sendError(response, 404, 'Not Found');
  }

  #scrape(request: IncomingMessage, response: ServerResponse): void {
    const { localAddress, remoteAddress } = request.socket;
    this.scrapes[localAddress === remoteAddress ? 'own' : 'foreign']++;
    if (namesAsked(request.url ?? '/') !== undefined) this.scrapes.byName++;
    this.#metrics.handle(request, response);
  }

  #complete(
    request: IncomingMessage,
    response: ServerResponse,
    handler: string,
    chat: boolean,
  ): void {
    if (request.method !== 'POST') {
      sendError(response, 405, 'Method Not Allowed');
      return;
    }
    const started = performance.now();
    response.on('finish', () => {
      const status = `${Math.floor(response.statusCode / 100)}xx`;
      const labels = formatLabels({ handler, method: 'POST', status });
      const { httpRequests, httpSeconds } = this.#state;
      httpRequests.set(labels, (httpRequests.get(labels) ?? 0) + 1);
      httpSeconds.observe((performance.now() - started) / 1000);
      this.#state.revision++;
    });
    // A client that goes while its body is read is no fault of ours.
    this.completions.handle(request, response, chat).catch(() => response.destroy());
  }

  #models(): object {
    const data = [this.#modelName, ...(this.#options.adapters ?? [])].map((id) => ({
      id,
      object: 'model',
      owned_by: 'leadsman',
    }));
    return { object: 'list', data };
  }

  #setSleep(response: ServerResponse, state: 'awake' | 'weights_offloaded'): void {
    this.#state.sleep = state;
    this.#state.revision++;
    response.writeHead(200).end();
  }
}

function sendJson(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
