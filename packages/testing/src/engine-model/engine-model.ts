/**
 * A discrete-event model of an engine that batches continuously (vLLM's rules): chunked prefill,
 * a KV cache in blocks with prefix reuse, a first-come queue, preemption by recompute. The engine
 * simulator serves it over HTTP, and the routing benchmark runs fleets of it.
 *
 * There is no clock inside. The caller brings the time: `submit` and `cancel` say what happened
 * when, `nextEventMs` says until when nothing will happen by itself, and `advance` lets steps end
 * up to a time. Callbacks get the modelled time of the step's end, however late `advance` comes,
 * and may call `submit` and `cancel`.
 *
 * Cost: a step is O(1), plus O(blocks) for prompts it computes and O(running) if a sequence
 * finishes in it; with `onToken`, O(running) always. About 15 million plain steps a second.
 */
import { Batch } from './batch.ts';
import { EngineInside } from './engine-inside.ts';
import { type EngineGauges, newEngineGauges } from './gauges.ts';
import { type EngineParameters, engineParameters } from './parameters.ts';
import { type EngineRequest, generatedTokens, newSequence, type Sequence } from './sequence.ts';
import { WaitingQueue } from './waiting-queue.ts';

export interface EngineCallbacks {
  onFirstToken?(id: number, nowMs: number): void;
  /** Each token, the first included; `generated` counts from 1. Costs O(running) per step. */
  onToken?(id: number, nowMs: number, generated: number): void;
  /** After the last token; never for a cancelled request. */
  onFinish?(id: number, nowMs: number): void;
}

export class EngineModel {
  readonly parameters: EngineParameters;
  /** As last published; read only. */
  readonly gauges: EngineGauges = newEngineGauges();
  /** When `advance` has something to do; Infinity while idle. */
  nextEventMs = Number.POSITIVE_INFINITY;
  readonly #callbacks: EngineCallbacks;
  readonly #batch: Batch;
  readonly #inside: EngineInside;
  readonly #waiting = new WaitingQueue();
  readonly #alive = new Map<number, Sequence>();
  #stepping = false;
  #stepMs = 0;
  /** The first step in which a decoding sequence finishes. */
  #finishStep = Number.POSITIVE_INFINITY;
  #cancelled = 0;
  #promptTokensTotal = 0;
  #generationTokensTotal = 0;
  #finishedTotal = 0;
  #ttftSumMs = 0;
  #ttftCount = 0;
  #interTokenSumMs = 0;
  #interTokenCount = 0;

  constructor(parameters: Partial<EngineParameters> = {}, callbacks: EngineCallbacks = {}) {
    this.parameters = engineParameters(parameters);
    this.#batch = new Batch(this.parameters);
    this.#inside = new EngineInside(this.#batch, this.#waiting);
    this.#callbacks = callbacks;
  }

  /** Requests submitted and neither finished nor cancelled. */
  get alive(): number {
    return this.#alive.size;
  }

  /** What is true inside at this moment, unlike the gauges: for an oracle and for tests. */
  get inside(): EngineInside {
    return this.#inside;
  }

  /**
   * Queues a request; `nowMs` must not be before the last `advance`. False when it could never
   * fit into the KV cache. Throws on an id in use and on token counts below 1.
   */
  submit(request: EngineRequest, nowMs: number): boolean {
    if (!(request.promptTokens >= 1 && request.outputTokens >= 1)) {
      throw new RangeError('a request has at least one prompt and one output token');
    }
    if (this.#alive.has(request.id)) throw new RangeError('request id in use');
    const blocksTotal = this.#batch.kv.blocksTotal;
    const tokensMax = request.promptTokens + request.outputTokens;
    if (tokensMax > blocksTotal * this.parameters.blockTokens) return false;
    const sequence = newSequence(request, nowMs);
    this.#alive.set(request.id, sequence);
    this.#waiting.push(sequence);
    if (!this.#stepping && this.nextEventMs > nowMs) this.nextEventMs = nowMs;
    return true;
  }

  /** Ends a request early; a running one leaves the batch at the end of the step under way. */
  cancel(id: number): boolean {
    const sequence = this.#alive.get(id);
    if (sequence === undefined) return false;
    this.#alive.delete(id);
    if (sequence.running) {
      sequence.cancelled = true;
      this.#cancelled++;
    } else {
      this.#waiting.remove(sequence);
      this.#batch.retryAdmission();
    }
    return true;
  }

  /** Lets every step that ends by `nowMs` end, and the next ones begin. */
  advance(nowMs: number): void {
    while (this.nextEventMs <= nowMs) {
      const atMs = this.nextEventMs;
      if (this.#stepping) this.#endStep(atMs);
      this.#beginStep(atMs);
    }
  }

  #beginStep(atMs: number): void {
    const batch = this.#batch;
    this.#stepping = batch.plan(this.#waiting);
    if (!this.#stepping) {
      this.nextEventMs = Number.POSITIVE_INFINITY;
      return;
    }
    const p = this.parameters;
    this.#stepMs =
      (p.stepBaseMs +
        p.stepPerSequenceMs * batch.running.length +
        (p.stepPerKvKilotokenMs * batch.kvTokens) / 1000 +
        (batch.stepPrefillTokens * 1000) / p.prefillTokensPerSecond) /
      p.speed;
    this.nextEventMs = atMs + this.#stepMs;
  }

  #endStep(atMs: number): void {
    const batch = this.#batch;
    this.#interTokenSumMs += batch.stepDecoding * this.#stepMs;
    this.#interTokenCount += batch.stepDecoding;
    this.#generationTokensTotal += batch.stepDecoding;
    this.#promptTokensTotal += batch.stepPrefillTokens;
    batch.stepEndedMs = atMs;
    if (batch.prefilling.length > 0) this.#endPrefills(atMs);
    if (this.#callbacks.onToken !== undefined) this.#emitTokens(atMs);
    if (batch.step >= this.#finishStep || this.#cancelled > 0) this.#removeFinished(atMs);
    this.#publish(atMs);
  }

  #endPrefills(atMs: number): void {
    const batch = this.#batch;
    const prefilling = batch.prefilling;
    let kept = 0;
    for (let i = 0; i < prefilling.length; i++) {
      const sequence = prefilling[i]!;
      if (sequence.computed < sequence.prefillTarget) prefilling[kept++] = sequence;
      else this.#firstToken(sequence, atMs);
    }
    prefilling.length = kept;
  }

  #firstToken(sequence: Sequence, atMs: number): void {
    this.#batch.beginDecoding(sequence);
    this.#generationTokensTotal++;
    if (sequence.generated === 1) {
      this.#ttftSumMs += atMs - sequence.submittedMs;
      this.#ttftCount++;
      if (!sequence.cancelled) this.#callbacks.onFirstToken?.(sequence.request.id, atMs);
    } else {
      this.#interTokenSumMs += atMs - sequence.lastTokenMs;
      this.#interTokenCount++;
    }
    if (sequence.finishStep < this.#finishStep) this.#finishStep = sequence.finishStep;
  }

  #emitTokens(atMs: number): void {
    const batch = this.#batch;
    for (let i = 0; i < batch.running.length; i++) {
      const sequence = batch.running[i]!;
      if (sequence.decodeStep < 0 || sequence.cancelled) continue;
      const generated = generatedTokens(sequence, batch.step);
      this.#callbacks.onToken!(sequence.request.id, atMs, generated);
    }
  }

  #removeFinished(atMs: number): void {
    const batch = this.#batch;
    const running = batch.running;
    this.#finishStep = Number.POSITIVE_INFINITY;
    let kept = 0;
    for (let i = 0; i < running.length; i++) {
      const sequence = running[i]!;
      if (sequence.cancelled) {
        this.#cancelled--;
        batch.release(sequence);
      } else if (sequence.finishStep <= batch.step) {
        batch.release(sequence);
        this.#finishedTotal++;
        this.#alive.delete(sequence.request.id);
        this.#callbacks.onFinish?.(sequence.request.id, atMs);
      } else {
        if (sequence.finishStep < this.#finishStep) this.#finishStep = sequence.finishStep;
        running[kept++] = sequence;
      }
    }
    running.length = kept;
  }

  #publish(atMs: number): void {
    const batch = this.#batch;
    const gauges = this.gauges;
    gauges.publishedMs = atMs;
    gauges.running = batch.running.length;
    gauges.waiting = this.#waiting.length;
    gauges.kvUsageRatio = batch.kv.used / batch.kv.blocksTotal;
    gauges.promptTokensTotal = this.#promptTokensTotal;
    gauges.generationTokensTotal = this.#generationTokensTotal;
    gauges.finishedTotal = this.#finishedTotal;
    gauges.preemptionsTotal = batch.preemptionsTotal;
    gauges.prefixHitTokensTotal = batch.prefixHitTokensTotal;
    gauges.prefixQueryTokensTotal = batch.prefixQueryTokensTotal;
    gauges.ttftSumMs = this.#ttftSumMs;
    gauges.ttftCount = this.#ttftCount;
    gauges.interTokenSumMs = this.#interTokenSumMs;
    gauges.interTokenCount = this.#interTokenCount;
  }
}
