import { describe, expect, it } from 'vitest';
import { seededRandom } from '../random.ts';
import { BlockHashes, blockTokens } from './block-hash.ts';
import { createPrefixBuffer, PrefixIndex } from './prefix-index.ts';

const shape = {
  endpointsMax: 2,
  tokensPerEndpointMax: 262_144,
  distinctBlocksMax: 4_096,
  blockTokens,
};
const blocksPerPrompt = 32;
const promptTokens = blocksPerPrompt * blockTokens;

/** An engine's cache of whole prompts, least recently used, with its counters. */
class Engine {
  hits = 0;
  queries = 0;
  readonly #cache = new Map<number, true>();
  readonly #promptsMax: number;

  constructor(tokens: number) {
    this.#promptsMax = Math.floor(tokens / promptTokens);
  }

  serve(prompt: number): void {
    this.queries += promptTokens;
    if (this.#cache.delete(prompt)) this.hits += promptTokens;
    this.#cache.set(prompt, true);
    if (this.#cache.size > this.#promptsMax) this.#cache.delete(this.#cache.keys().next().value!);
  }
}

function promptOf(number: number): BlockHashes {
  const hashes = new BlockHashes();
  const bytes = new Uint8Array(blocksPerPrompt * 256).fill(number % 251);
  new DataView(bytes.buffer).setInt32(0, number);
  hashes.set(bytes, 1);
  return hashes;
}

/** Sends prompts of two sorts, one of 60 that return and one that never does. */
function send(
  index: PrefixIndex,
  engine: Engine,
  count: number,
  seed: number,
  waits = false,
): void {
  const random = seededRandom(seed);
  for (let i = 0; i < count; i++) {
    const prompt = random() < 0.7 ? Math.floor(random() * 60) : 1_000 * seed + i;
    const hashes = promptOf(prompt);
    index.feedback.expect(0, hashes.tokensOf(index.match(0, hashes)), promptTokens);
    index.enter(0, hashes);
    engine.serve(prompt);
    if (i % 5 === 0) index.feedback.observe(0, engine.hits, engine.queries, waits);
  }
}

describe('feedback of hits', () => {
  it.each([1 / 4, 1 / 2, 1, 3 / 2])(
    'finds that the cache is %f times its reported size',
    (part) => {
      const index = new PrefixIndex(createPrefixBuffer(shape), shape);
      const reported = 100_000;
      index.blocks.setCapacity(0, reported);
      send(index, new Engine(reported * part), 8_000, 7);
      const { expected, engine } = index.feedback.ratios(0)!;
      expect(Math.abs(expected - engine)).toBeLessThan(0.08);
      expect(index.blocks.scaleOf(0) / part).toBeGreaterThan(0.7);
      // Ratios that differ by less than the tolerance are taken for equal.
      expect(index.blocks.scaleOf(0) / part).toBeLessThan(1.8);
    },
  );

  it('takes misses for nothing while requests wait in the engine', () => {
    const index = new PrefixIndex(createPrefixBuffer(shape), shape);
    index.blocks.setCapacity(0, 100_000);
    send(index, new Engine(25_000), 4_000, 7, true);
    expect(index.blocks.scaleOf(0)).toBe(1);
    expect(index.feedback.ratios(0)).toBeUndefined();
  });

  it('expects next to nothing of an engine that caches nothing', () => {
    const index = new PrefixIndex(createPrefixBuffer(shape), shape);
    index.blocks.setCapacity(0, 100_000);
    send(index, new Engine(0), 8_000, 3);
    expect(index.feedback.ratios(0)!.expected).toBeLessThan(0.12);
  });

  it('forgets all when the counters fell back, once, and goes on', () => {
    const index = new PrefixIndex(createPrefixBuffer(shape), shape);
    index.blocks.setCapacity(0, 100_000);
    const before = new Engine(100_000);
    send(index, before, 500, 1);
    index.enter(0, promptOf(5));
    expect(index.match(0, promptOf(5))).toBe(blocksPerPrompt);
    expect(index.feedback.observe(0, 10, 2_000, false)).toBe(true);
    expect(index.feedback.observe(0, 10, 2_000, false)).toBe(false);
    expect(index.match(0, promptOf(5))).toBe(0);
    const scale = index.blocks.scaleOf(0);
    send(index, new Engine(100_000), 500, 2);
    expect(index.blocks.scaleOf(0)).toBeCloseTo(scale, 0);
  });

  it('knows nothing of an engine that does not tell, nor beyond its room', () => {
    const index = new PrefixIndex(createPrefixBuffer(shape), shape);
    index.enter(0, promptOf(1));
    expect(index.feedback.observe(0, Number.NaN, 100, false)).toBe(false);
    expect(index.feedback.observe(9, 1, 100, false)).toBe(false);
    index.feedback.expect(9, 1, 100);
    expect(index.feedback.ratios(0)).toBeUndefined();
  });
});
