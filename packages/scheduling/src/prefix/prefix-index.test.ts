import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../random.ts';
import { BlockHashes, blockBytes, blocksMax, blockTokens } from './block-hash.ts';
import { holdersMax } from './block-holders.ts';
import { createPrefixBuffer, PrefixIndex } from './prefix-index.ts';

const utf8 = new TextEncoder();
const shape = {
  endpointsMax: 8,
  tokensPerEndpointMax: 65_536,
  distinctBlocksMax: 4_096,
  blockTokens,
};

function index(): PrefixIndex {
  return new PrefixIndex(createPrefixBuffer(shape), shape);
}

function hashesOf(text: string | Uint8Array, seed = 1): BlockHashes {
  const hashes = new BlockHashes();
  hashes.set(typeof text === 'string' ? utf8.encode(text) : text, seed);
  return hashes;
}

function randomText(seed: number, blocks: number): Uint8Array {
  const random = seededRandom(seed);
  return Uint8Array.from({ length: blocks * blockBytes }, () => Math.floor(random() * 256));
}

describe('block hashes', () => {
  it('are shared exactly as far as the prompts are', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.nat(40), fc.nat(40), fc.nat(7), (shared, a, b, offset) => {
        const common = randomText(1, shared);
        const first = Uint8Array.of(...common, ...randomText(2, a));
        const second = Uint8Array.of(...common, ...randomText(3, b));
        // The same bytes at another alignment must give the same hashes.
        const moved = new Uint8Array(second.length + offset).subarray(offset);
        moved.set(second);
        const [x, y] = [hashesOf(first), hashesOf(moved)];
        expect([x.count, y.count]).toEqual([shared + a, shared + b]);
        for (let i = 0; i < Math.min(x.count, y.count); i++) {
          expect(x.high[i] === y.high[i] && x.low[i] === y.low[i]).toBe(i < shared);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('differ between models, leave out a part of a block and end at the bound', () => {
    const text = 'y'.repeat(blockBytes * 2 + 100);
    expect(hashesOf(text).count).toBe(2);
    expect(hashesOf(text, 1).low[0]).not.toBe(hashesOf(text, 2).low[0]);
    expect(hashesOf('y'.repeat(blockBytes - 1)).count).toBe(0);
    expect(hashesOf(new Uint8Array(blockBytes * (blocksMax + 9))).count).toBe(blocksMax);
  });

  it('do not collide among a hundred thousand blocks', () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 50; seed++) {
      const hashes = hashesOf(randomText(seed, 2_000));
      for (let i = 0; i < hashes.count; i++) seen.add(`${hashes.high[i]}/${hashes.low[i]}`);
    }
    expect(seen.size).toBe(100_000);
  });
});

describe('the prefix index', () => {
  it('knows how much of a prompt an endpoint holds, and who used it last', () => {
    const prefixes = index();
    const prompt = randomText(1, 20);
    const longer = Uint8Array.of(...prompt, ...randomText(2, 10));
    prefixes.enter(3, hashesOf(prompt));
    prefixes.enter(5, hashesOf(prompt.subarray(0, 7 * blockBytes)));
    expect(prefixes.match(3, hashesOf(longer))).toBe(20);
    expect(prefixes.match(5, hashesOf(longer))).toBe(7);
    expect(prefixes.match(4, hashesOf(longer))).toBe(0);
    const holders = new Int32Array(holdersMax);
    expect(prefixes.latestHolders(hashesOf(longer), holders)).toBe(1);
    expect(holders[0]).toBe(3);
    prefixes.enter(5, hashesOf(longer));
    expect(prefixes.latestHolders(hashesOf(prompt), holders)).toBe(2);
    expect([...holders.subarray(0, 2)]).toEqual([5, 3]);
    expect(prefixes.latestHolders(hashesOf(randomText(9, 3)), holders)).toBe(0);
  });

  it('never finds less than was entered last, whatever came before', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(7), fc.nat(30), fc.integer({ min: 1, max: 60 })), {
          maxLength: 60,
        }),
        (entries) => {
          const prefixes = index();
          for (const [endpoint, seed, blocks] of entries) {
            const hashes = hashesOf(randomText(seed, blocks));
            prefixes.enter(endpoint, hashes);
            expect(prefixes.match(endpoint, hashes)).toBe(blocks);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it('forgets the least recently used prompts of an endpoint, and only its', () => {
    const prefixes = index();
    prefixes.blocks.setCapacity(0, 4_096);
    const old = hashesOf(randomText(1, 32));
    const kept = hashesOf(randomText(2, 32));
    prefixes.enter(0, old);
    prefixes.enter(1, old);
    for (let seed = 10; seed < 90; seed++) {
      prefixes.enter(0, hashesOf(randomText(seed, 8)));
      prefixes.enter(0, kept);
    }
    expect(prefixes.match(0, old)).toBeLessThan(4);
    expect(prefixes.match(0, kept)).toBe(32);
    expect(prefixes.match(1, old)).toBe(32);
  });

  it('says how much of a prompt is no news to others', () => {
    const prefixes = index();
    const hashes = hashesOf(randomText(1, 10));
    expect(prefixes.enter(0, hashes)).toBe(0);
    expect(prefixes.enter(0, hashes)).toBe(10);
    expect(prefixes.enter(1, hashes)).toBe(0);
    for (let i = 0; i < 70; i++) prefixes.enter(0, hashesOf(randomText(2, 1)));
    expect(prefixes.enter(0, hashes)).toBe(0);
  });

  it('forgets a pod whose index goes to another, and ignores endpoints beyond its room', () => {
    const prefixes = index();
    const hashes = hashesOf(randomText(1, 10));
    prefixes.enter(2, hashes);
    prefixes.blocks.clear(2);
    expect(prefixes.match(2, hashes)).toBe(0);
    prefixes.enter(99, hashes);
    prefixes.blocks.setCapacity(99, 1_000);
    expect(prefixes.match(99, hashes)).toBe(0);
  });
});
