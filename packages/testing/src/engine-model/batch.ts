/**
 * The running batch of a modelled engine: which sequences compute how many tokens in the next
 * step, and which must give way when the KV cache is full. The rules are vLLM's: running sequences
 * first (one token per decoding sequence, then the prompts under way), then the queue in order,
 * all within one token budget; when no block is left, the sequence admitted last is preempted and
 * later recomputed from its prompt.
 *
 * Decoding sequences are aggregates here. All that a step must know about them is how many need a
 * new block, and that is a count per residue of (context tokens − step) modulo the block size.
 *
 * Invariant: `kvTokens` is the sum of the context tokens of all running sequences at `step`.
 */
import { KvCache } from './kv-cache.ts';
import type { EngineParameters } from './parameters.ts';
import { contextTokens, generatedTokens, type Sequence } from './sequence.ts';
import type { WaitingQueue } from './waiting-queue.ts';

export class Batch {
  readonly kv: KvCache;
  /** In order of admission. */
  readonly running: Sequence[] = [];
  /** Those of `running` whose prompt is not computed yet, in order of admission. */
  readonly prefilling: Sequence[] = [];
  /** Steps planned so far. */
  step = 0;
  kvTokens = 0;
  preemptionsTotal = 0;
  /** When the last step ended; set by the model. */
  stepEndedMs = 0;
  prefixHitTokensTotal = 0;
  prefixQueryTokensTotal = 0;
  /** Prompt tokens computed by the planned step. */
  stepPrefillTokens = 0;
  /** Sequences that decode in the planned step. */
  stepDecoding = 0;
  readonly #blockTokens: number;
  readonly #stepTokensMax: number;
  readonly #runningMax: number;
  /** Decoding sequences per residue of (context tokens − step). */
  readonly #residues: Int32Array;
  /** Used blocks at the time the head of the queue was refused; retried once some are freed. */
  #refusedAtUsed = Number.POSITIVE_INFINITY;
  /** Whether the decoding sequences already count the token of the step being planned. */
  #stepBegun = false;

  constructor(parameters: EngineParameters) {
    this.#blockTokens = parameters.blockTokens;
    this.#stepTokensMax = parameters.stepTokensMax;
    this.#runningMax = parameters.runningMax;
    this.#residues = new Int32Array(parameters.blockTokens);
    this.kv = new KvCache(Math.floor(parameters.kvCapacityTokens / parameters.blockTokens));
  }

  /** Plans the next step; false if there is nothing to compute. */
  plan(waiting: WaitingQueue): boolean {
    if (this.running.length === 0 && waiting.length === 0) return false;
    const preemptionsBefore = this.preemptionsTotal;
    this.#stepBegun = false;
    this.#growDecoding(waiting);
    this.step++;
    this.#stepBegun = true;
    this.stepDecoding = this.running.length - this.prefilling.length;
    this.kvTokens += this.stepDecoding;
    this.stepPrefillTokens = 0;
    let budget = this.#stepTokensMax - this.stepDecoding;
    // Preemption takes from the end of the list, so an index stays valid.
    for (let i = 0; i < this.prefilling.length && budget > 0; i++) {
      budget -= this.#growPrompt(this.prefilling[i]!, budget, waiting);
    }
    if (this.preemptionsTotal === preemptionsBefore) this.#admit(waiting, budget);
    return this.running.length > 0;
  }

  /** The end of a prompt was computed in the planned step: it decodes from now on. */
  beginDecoding(sequence: Sequence): void {
    sequence.generated++;
    sequence.decodeStep = this.step;
    sequence.finishStep = this.step + sequence.request.outputTokens - sequence.generated;
    this.#residues[this.#residue(sequence)]! += 1;
  }

  /** Takes a running sequence out and frees its blocks; `running` itself is left to the caller. */
  release(sequence: Sequence): void {
    this.#release(sequence, contextTokens(sequence, this.step));
  }

  /** `computed`: its context tokens that have KV; the rest of its blocks is nobody's. */
  #release(sequence: Sequence, computed: number): void {
    const tokens = contextTokens(sequence, this.step);
    if (sequence.decodeStep >= 0) {
      this.#residues[this.#residue(sequence)]! -= 1;
      this.#publishAnswer(sequence, computed);
    } else this.prefilling.splice(this.prefilling.indexOf(sequence), 1);
    this.kvTokens -= tokens;
    this.kv.releasePrivate(this.#blocksFor(tokens) - sequence.shared.length);
    // The end of a prompt first, so that it is the first to be evicted: beginnings are shared.
    for (let i = sequence.shared.length - 1; i >= 0; i--) {
      this.kv.releaseShared(sequence.shared[i]!);
    }
    sequence.shared.length = 0;
    sequence.running = false;
  }

  /** The queue has another head than the one refused last. */
  retryAdmission(): void {
    this.#refusedAtUsed = Number.POSITIVE_INFINITY;
  }

  /** Takes the blocks that the decoding sequences need for their next token. */
  #growDecoding(waiting: WaitingQueue): void {
    const size = this.#blockTokens;
    const full = (size - (this.step % size)) % size;
    while (!this.kv.allocate(this.#residues[full]!)) this.#preemptLast(waiting);
  }

  /** Gives a prompt under way its share of the step; returns the tokens it got. */
  #growPrompt(sequence: Sequence, budget: number, waiting: WaitingQueue): number {
    const tokens = Math.min(sequence.prefillTarget - sequence.computed, budget);
    const blocks = this.#blocksFor(sequence.computed + tokens) - this.#blocksFor(sequence.computed);
    while (!this.kv.allocate(blocks)) {
      this.#preemptLast(waiting);
      if (!sequence.running) return 0;
    }
    this.#compute(sequence, tokens);
    return tokens;
  }

  #admit(waiting: WaitingQueue, budget: number): void {
    let left = budget;
    while (left > 0 && this.running.length < this.#runningMax) {
      const sequence = waiting.first;
      if (sequence === undefined || this.kv.used >= this.#refusedAtUsed) return;
      const hashes = sequence.request.blockHashes;
      // The last token is always computed: sampling needs its output.
      const hitsMax = Math.floor((sequence.prefillTarget - 1) / this.#blockTokens);
      const hits = this.kv.match(hashes, Math.min(hashes.length, hitsMax));
      const hitTokens = hits * this.#blockTokens;
      const tokens = Math.min(sequence.prefillTarget - hitTokens, left);
      const blocks = this.#blocksFor(hitTokens + tokens) - hits;
      if (this.kv.used + this.kv.idleAmong(hashes, hits) + blocks > this.kv.blocksTotal) {
        this.#refusedAtUsed = this.kv.used;
        return;
      }
      for (let i = 0; i < hits; i++) sequence.shared.push(this.kv.share(hashes[i]!));
      this.kv.allocate(blocks);
      waiting.dropFirst();
      this.#refusedAtUsed = Number.POSITIVE_INFINITY;
      this.#start(sequence, hitTokens);
      this.#compute(sequence, tokens);
      left -= tokens;
    }
  }

  #start(sequence: Sequence, hitTokens: number): void {
    if (!sequence.countedPrefix) {
      sequence.countedPrefix = true;
      this.prefixQueryTokensTotal += sequence.request.promptTokens;
      this.prefixHitTokensTotal += hitTokens;
    }
    sequence.running = true;
    sequence.computed = hitTokens;
    this.kvTokens += hitTokens;
    this.running.push(sequence);
    this.prefilling.push(sequence);
  }

  /** Books `tokens` of prompt, whose blocks are allocated, and publishes whole prompt blocks. */
  #compute(sequence: Sequence, tokens: number): void {
    const hashes = sequence.request.blockHashes;
    const from = Math.floor(sequence.computed / this.#blockTokens);
    sequence.computed += tokens;
    this.kvTokens += tokens;
    this.stepPrefillTokens += tokens;
    const to = Math.min(hashes.length, Math.floor(sequence.computed / this.#blockTokens));
    for (let i = from; i < to; i++) {
      const slot = this.kv.adopt(hashes[i]!);
      if (slot >= 0) sequence.shared.push(slot);
    }
  }

  /** Gives the whole blocks that decoding filled their hashes, where the request knows them. */
  #publishAnswer(sequence: Sequence, tokens: number): void {
    const hashes = sequence.request.blockHashes;
    const from = Math.floor(sequence.computed / this.#blockTokens);
    const to = Math.min(hashes.length, Math.floor(tokens / this.#blockTokens));
    for (let i = from; i < to; i++) {
      const slot = this.kv.adopt(hashes[i]!);
      if (slot >= 0) sequence.shared.push(slot);
    }
  }

  #preemptLast(waiting: WaitingQueue): void {
    const sequence = this.running.pop();
    if (sequence === undefined) throw new Error('the KV cache is full and nothing runs');
    let generated = generatedTokens(sequence, this.step);
    let computed = contextTokens(sequence, this.step);
    if (this.#stepBegun && sequence.decodeStep >= 0) {
      // Its token of this step will not come, though the block for it was taken.
      generated--;
      computed--;
      this.stepDecoding--;
    }
    this.#release(sequence, computed);
    sequence.generated = generated;
    sequence.prefillTarget = sequence.request.promptTokens + generated;
    sequence.lastTokenMs = this.stepEndedMs;
    sequence.computed = 0;
    sequence.decodeStep = -1;
    sequence.finishStep = Number.POSITIVE_INFINITY;
    waiting.pushFront(sequence);
    this.preemptionsTotal++;
    this.#refusedAtUsed = Number.POSITIVE_INFINITY;
  }

  #residue(sequence: Sequence): number {
    const size = this.#blockTokens;
    const offset = (sequence.computed - sequence.decodeStep) % size;
    return offset < 0 ? offset + size : offset;
  }

  #blocksFor(tokens: number): number {
    return Math.ceil(tokens / this.#blockTokens);
  }
}
