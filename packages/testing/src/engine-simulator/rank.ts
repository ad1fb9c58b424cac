/**
 * One data-parallel rank of a simulated engine: the engine model driven by a clock.
 *
 * The model's time runs at `speed` times the clock's and can be changed at any moment, so a rank
 * is slowed, or stopped altogether (wedged: it takes requests and computes nothing), by changing
 * how its time passes. A timer that fires late only catches up; the modelled times stay exact.
 */
import { EngineModel } from '../engine-model/engine-model.ts';
import type { EngineParameters } from '../engine-model/parameters.ts';
import { RankStatistics } from './rank-statistics.ts';

export interface RankRequest {
  promptTokens: number;
  outputTokens: number;
  /** As the client asked; for the page. */
  maxTokens: number;
  blockHashes: ArrayLike<number>;
  /** Adapter name, '' for the base model. */
  adapter: string;
  /** The output ended by itself (`stop`) or by the limit (`length`). */
  finish: 'stop' | 'length';
  onToken(generated: number): void;
  onFinish(): void;
}

interface Alive {
  request: RankRequest;
  submittedMs: number;
  firstTokenMs: number;
  lastTokenMs: number;
}

export class Rank {
  readonly statistics = new RankStatistics();
  readonly model: EngineModel;
  /** Grows whenever anything on the metrics page may have changed. */
  revision = 0;
  readonly #now: () => number;
  readonly #alive = new Map<number, Alive>();
  #nextId = 1;
  #timer: NodeJS.Timeout | undefined;
  #speed = 1;
  /** Model time = base + (clock − clockBase) × speed. */
  #modelBaseMs = 0;
  #clockBaseMs: number;
  #tokensSeen = 0;

  /** `now` is a monotonic clock in ms. */
  constructor(parameters: Partial<EngineParameters>, now: () => number) {
    this.#now = now;
    this.#clockBaseMs = now();
    this.model = new EngineModel(parameters, {
      onToken: (id, _, generated) => this.#token(id, generated),
      onFinish: (id) => this.#finish(id),
    });
  }

  /** How busy a front end takes this rank to be; changes at once, unlike the published gauges. */
  get alive(): number {
    return this.#alive.size;
  }

  /** Adapters of the requests under way. */
  adapters(): Set<string> {
    const names = new Set<string>();
    for (const { request } of this.#alive.values()) {
      if (request.adapter !== '') names.add(request.adapter);
    }
    return names;
  }

  /** Queues a request and returns its id, or undefined when it can never fit into the KV cache. */
  submit(request: RankRequest): number | undefined {
    this.#catchUp();
    const id = this.#nextId++;
    const accepted = this.model.submit(
      {
        id,
        promptTokens: request.promptTokens,
        outputTokens: request.outputTokens,
        blockHashes: request.blockHashes,
      },
      this.#modelMs(),
    );
    if (!accepted) return undefined;
    this.#alive.set(id, { request, submittedMs: this.#now(), firstTokenMs: 0, lastTokenMs: 0 });
    this.#schedule();
    return id;
  }

  /** Ends a request whose client has gone; nothing when it has finished. */
  cancel(id: number): void {
    if (!this.#alive.delete(id)) return;
    this.#catchUp();
    this.model.cancel(id);
    this.statistics.finished.abort++;
    this.revision++;
    this.#schedule();
  }

  /** 1 is normal, 0.25 a quarter of it, 0 stands still. */
  setSpeed(speed: number): void {
    if (!(speed >= 0 && Number.isFinite(speed))) throw new RangeError('speed must not be negative');
    this.#catchUp();
    this.#modelBaseMs = this.#modelMs();
    this.#clockBaseMs = this.#now();
    this.#speed = speed;
    this.#schedule();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #modelMs(): number {
    return this.#modelBaseMs + (this.#now() - this.#clockBaseMs) * this.#speed;
  }

  #catchUp(): void {
    const modelMs = this.#modelMs();
    if (this.model.nextEventMs > modelMs) return;
    this.model.advance(modelMs);
    const { promptTokensTotal, generationTokensTotal } = this.model.gauges;
    const tokens = promptTokensTotal + generationTokensTotal;
    if (tokens > this.#tokensSeen) this.statistics.stepTokens.observe(tokens - this.#tokensSeen);
    this.#tokensSeen = tokens;
    this.revision++;
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#speed === 0 || !Number.isFinite(this.model.nextEventMs)) return;
    const waitMs = (this.model.nextEventMs - this.#modelMs()) / this.#speed;
    this.#timer = setTimeout(
      () => {
        this.#catchUp();
        this.#schedule();
      },
      Math.max(0, waitMs),
    );
  }

  #token(id: number, generated: number): void {
    const alive = this.#alive.get(id);
    if (alive === undefined) return;
    const now = this.#now();
    if (generated === 1) {
      alive.firstTokenMs = now;
      this.statistics.firstTokenSeconds.observe((now - alive.submittedMs) / 1000);
    } else {
      this.statistics.interTokenSeconds.observe((now - alive.lastTokenMs) / 1000);
    }
    alive.lastTokenMs = now;
    alive.request.onToken(generated);
  }

  #finish(id: number): void {
    const alive = this.#alive.get(id);
    if (alive === undefined) return;
    this.#alive.delete(id);
    const { request, submittedMs, firstTokenMs, lastTokenMs } = alive;
    const statistics = this.statistics;
    const firstTokenS = (firstTokenMs - submittedMs) / 1000;
    const decodeS = (lastTokenMs - firstTokenMs) / 1000;
    // The model does not say when a prompt began to be computed: taken from its length.
    const prefillS = Math.min(
      firstTokenS,
      request.promptTokens / this.model.parameters.prefillTokensPerSecond,
    );
    statistics.promptTokens.observe(request.promptTokens);
    statistics.generationTokens.observe(request.outputTokens);
    statistics.maxGenerationTokens.observe(request.outputTokens);
    statistics.maxTokensParameter.observe(request.maxTokens);
    statistics.choicesParameter.observe(1);
    statistics.endToEndSeconds.observe(firstTokenS + decodeS);
    statistics.queueSeconds.observe(firstTokenS - prefillS);
    statistics.prefillSeconds.observe(prefillS);
    statistics.decodeSeconds.observe(decodeS);
    statistics.inferenceSeconds.observe(prefillS + decodeS);
    if (request.outputTokens > 1) {
      statistics.requestInterTokenSeconds.observe(decodeS / (request.outputTokens - 1));
    }
    statistics.finished[request.finish]++;
    request.onFinish();
  }
}
