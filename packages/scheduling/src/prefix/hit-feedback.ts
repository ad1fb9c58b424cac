/**
 * Corrects the prefix index by the engines' own word: hits that were expected when requests were
 * sent, against the growth of the engine's prefix-cache counters in its reports.
 *
 * Both are taken as ratios over the same windows, in which the prompts sent come to the
 * size of the cache, and smoothed. Where more was expected than was found, the endpoint's table goes by a
 * smaller part of the reported size, until both agree; where more was found, by a larger one; where
 * they agree, it is led back to the reported size as long as they do. So a
 * wrong size, other traffic, a cache behind the cache and a switched-off cache mend themselves. An
 * engine whose counters fell back began anew, and its table is emptied.
 *
 * Only windows in which nothing waited in the engine count. Where requests wait, what was cached at
 * the pick may be pushed out until they begin, by those before them: fewer hits then say that there
 * is too much work, not that the cache is small, and to expect less would scatter requests and make
 * more of it.
 *
 * All workers see all reports; a compare-and-exchange on the counter's last value gives each window
 * to one of them. Ratios of different requests are compared where other replicas send as well; they
 * send the same kind, as gateways spread over replicas without regard to content.
 *
 * Cost: two atomic additions per pick, some loads per report.
 */
import { type EndpointBlocks, scaleMax } from './endpoint-blocks.ts';
import { header, headerWords } from './endpoint-header.ts';

/** Part of the cache that the prompts of a window come to. */
const windowOfCache = 1;
/** Ratios this close are equal: blocks are coarse, and tokens are estimated. */
const tolerance = 0.05;
const windowWeight = 0.3;
/** Change of the size with one window: as fast down as up, or noise alone would shrink it. */
const step = 0.05;
const ratioOne = 65_536;

export interface HitRatios {
  /** Share of prompt tokens that were expected in the cache, and that the engine found there. */
  expected: number;
  engine: number;
}

export class HitFeedback {
  readonly #words: Int32Array;
  readonly #blocks: EndpointBlocks;

  /** `words`: the memory of `blocks`, whose headers are used. */
  constructor(words: Int32Array, blocks: EndpointBlocks) {
    this.#words = words;
    this.#blocks = blocks;
  }

  /** A prompt was sent of which `hitTokens` are expected in the endpoint's cache. */
  expect(endpoint: number, hitTokens: number, promptTokens: number): void {
    if (endpoint >= this.#blocks.endpointsMax) return;
    const at = endpoint * headerWords;
    Atomics.add(this.#words, at + header.expectedHits, Math.round(hitTokens));
    Atomics.add(this.#words, at + header.expectedQueries, Math.round(promptTokens));
  }

  /**
   * A report with the engine's counters came, NaN = unknown, and said whether requests wait. Returns
   * whether the engine began anew.
   */
  observe(endpoint: number, hitsTotal: number, queriesTotal: number, waits: boolean): boolean {
    if (endpoint >= this.#blocks.endpointsMax) return false;
    if (!(hitsTotal >= 0) || !(queriesTotal >= 0)) return false;
    const words = this.#words;
    const at = endpoint * headerWords;
    if (words[at + header.sets] === 0) return false;
    const last = Atomics.load(words, at + header.engineQueries);
    // Counters are kept by their lowest 32 bits, so a fall shows as a growth beyond half of them.
    const queries = (queriesTotal % 0x1_0000_0000) | 0;
    const hits = (hitsTotal % 0x1_0000_0000) | 0;
    const grown = (queries - last) >>> 0;
    const isFirst = words[at + header.isObserved] === 0;
    const isAnew = !isFirst && grown >= 0x8000_0000;
    const window = words[at + header.capacityTokens]! * windowOfCache;
    const isDue = grown > 0 && words[at + header.expectedQueries]! >= window;
    if (!isFirst && !isAnew && !isDue && !(waits && grown > 0)) return false;
    if (Atomics.compareExchange(words, at + header.engineQueries, last, queries) !== last) {
      return false;
    }
    const found = (hits - Atomics.exchange(words, at + header.engineHits, hits)) >>> 0;
    const expected = Atomics.exchange(words, at + header.expectedHits, 0);
    const sent = Atomics.exchange(words, at + header.expectedQueries, 0);
    words[at + header.isObserved] = 1;
    if (isAnew) this.#blocks.empty(endpoint);
    else if (!isFirst && !waits)
      this.#correct(endpoint, expected / sent, Math.min(1, found / grown));
    return isAnew;
  }

  /** The smoothed ratios of an endpoint, `undefined` before its first window. */
  ratios(endpoint: number): HitRatios | undefined {
    const at = endpoint * headerWords;
    const engine = this.#words[at + header.engineRatio]!;
    if (engine === 0) return undefined;
    return {
      expected: (this.#words[at + header.expectedRatio]! - 1) / ratioOne,
      engine: (engine - 1) / ratioOne,
    };
  }

  #correct(endpoint: number, expected: number, engine: number): void {
    const before = this.ratios(endpoint) ?? { expected, engine };
    const smoothExpected = before.expected + windowWeight * (expected - before.expected);
    const smoothEngine = before.engine + windowWeight * (engine - before.engine);
    const at = endpoint * headerWords;
    this.#words[at + header.expectedRatio] = 1 + Math.round(ratioOne * smoothExpected);
    this.#words[at + header.engineRatio] = 1 + Math.round(ratioOne * smoothEngine);
    const excess = smoothExpected - smoothEngine;
    const scale = this.#blocks.scaleOf(endpoint);
    // Agreement at a part of the size is no proof of it: requests may have been scattered because
    // too little was expected. So the way back to the reported size is always open.
    const mayGrow = excess < -tolerance ? scale < scaleMax : excess <= tolerance && scale < 1;
    if (excess > tolerance) {
      this.#blocks.setScale(endpoint, scale / (1 + step));
    } else if (mayGrow) {
      this.#blocks.setScale(endpoint, scale * (1 + step));
    }
  }
}
