import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../random.ts';
import {
  BlockHashes,
  blockBytes,
  blocksMax,
  blockTokens,
  bytesPerToken,
  tokensOfBlock,
} from './block-hash.ts';
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
    expect(hashesOf(new Uint8Array(20_000 * blockBytes)).count).toBe(blocksMax);
  });

  it('stand for more text the further they are from the start, 1.6 % of it at most', () => {
    fc.assert(
      fc.property(fc.nat(2_000_000), (bytes) => {
        const hashes = hashesOf(new Uint8Array(bytes));
        const tokens = hashes.tokensOf(hashes.count);
        const rest = bytes - tokens * bytesPerToken;
        expect(rest).toBeGreaterThanOrEqual(0);
        expect(rest).toBeLessThan(Math.max(blockBytes, bytes / 64));
        let sum = 0;
        for (let i = 0; i < hashes.count; i++) sum += tokensOfBlock(hashes.low[i]!);
        expect(sum).toBe(tokens);
      }),
      { numRuns: 30 },
    );
  });

  it('can be given by the caller', () => {
    const hashes = new BlockHashes();
    hashes.beginHashed(512);
    for (let i = 0; i < 5; i++) hashes.addHashed(i, -1);
    expect(hashes.tokensOf(3)).toBe(1_536);
    expect(tokensOfBlock(hashes.low[4]!)).toBe(512);
    hashes.beginHashed(100);
    hashes.addHashed(1, -1);
    expect(hashes.tokensOf(1)).toBe(100);
    expect(tokensOfBlock(hashes.low[0]!)).toBe(128);
  });

  it('do not collide among a hundred thousand blocks', () => {
    const seen = new Set<string>();
    for (let seed = 0; seed < 400; seed++) {
      const hashes = hashesOf(randomText(seed, 512));
      for (let i = 0; i < hashes.count; i++) seen.add(`${hashes.high[i]}/${hashes.low[i]}`);
    }
    expect(seen.size).toBe(400 * 256);
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
    // After a sixteenth of the cache was used, the order may have changed.
    for (let i = 0; i < 70; i++) prefixes.enter(0, hashesOf(randomText(100 + i, 10)));
    expect(prefixes.enter(0, hashes)).toBe(0);
  });

  it('forgets as a cache of so many tokens does, to one part in 64', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100_000, max: 400_000 }), fc.nat(1_000), (capacity, seed) => {
        const room = { ...shape, tokensPerEndpointMax: 1_048_576 };
        const prefixes = new PrefixIndex(createPrefixBuffer(room), room);
        prefixes.blocks.setCapacity(0, capacity);
        const cache = new Map<string, number>();
        let cached = 0;
        const random = seededRandom(seed);
        let differing = 0;
        let asked = 0;
        for (let i = 0; i < 400; i++) {
          // Some prompts return often, some after long, some never.
          const which = random() < 0.5 ? Math.floor(random() ** 3 * 200) : 1_000 + i;
          const hashes = hashesOf(randomText(which, 20 + (which % 90)));
          const names = Array.from({ length: hashes.count }, (_, b) => `${which}/${b}`);
          const held = prefixes.blocks;
          for (let b = 0; b < hashes.count; b++) {
            asked++;
            const isHeld = held.holds(0, hashes.high[b]!, hashes.low[b]!);
            if (isHeld !== cache.has(names[b]!)) differing++;
          }
          prefixes.enter(0, hashes);
          for (let b = hashes.count - 1; b >= 0; b--) {
            const tokens = tokensOfBlock(hashes.low[b]!);
            if (!cache.delete(names[b]!)) cached += tokens;
            cache.set(names[b]!, tokens);
          }
          for (const [name, tokens] of cache) {
            if (cached <= capacity) break;
            cache.delete(name);
            cached -= tokens;
          }
        }
        expect(differing).toBeLessThanOrEqual(asked / 64);
        expect(prefixes.blocks.heldTokens(0)).toBeLessThanOrEqual(capacity);
      }),
      { numRuns: 5 },
    );
  });

  it('finds a long match although single blocks of it are lost', () => {
    const room = { ...shape, tokensPerEndpointMax: 1_048_576 };
    const prefixes = new PrefixIndex(createPrefixBuffer(room), room);
    const hashes = hashesOf(randomText(1, 800));
    prefixes.enter(0, hashes);
    const clock = prefixes.blocks.clockOf(0);
    for (let lost = 0; lost < hashes.count - 1; lost += 7) {
      prefixes.blocks.forget(0, hashes.high[lost]!, hashes.low[lost]!, clock);
    }
    expect(prefixes.match(0, hashes)).toBe(hashes.count);
  });

  it('counts answers, which take room under no known hash', () => {
    const prefixes = index();
    prefixes.blocks.setCapacity(0, 8_192);
    const hashes = hashesOf(randomText(1, 60));
    prefixes.enter(0, hashes);
    prefixes.blocks.fillAnonymous(0, 4_000);
    expect(prefixes.match(0, hashes)).toBeGreaterThan(56);
    for (let i = 0; i < 4; i++) prefixes.blocks.fillAnonymous(0, 1_500);
    expect(prefixes.match(0, hashes)).toBe(0);
  });

  it('goes by another size when told, and forgets all when the engine began anew', () => {
    const prefixes = index();
    prefixes.blocks.setCapacity(0, 16_384);
    const first = hashesOf(randomText(1, 100));
    prefixes.enter(0, first);
    const second = hashesOf(randomText(2, 100));
    prefixes.enter(0, second);
    expect(prefixes.match(0, first)).toBe(100);
    prefixes.blocks.setScale(0, 0.5);
    // 128 blocks of 64 tokens are left, and a prompt goes from its end.
    expect(prefixes.match(0, first)).toBe(28);
    expect(prefixes.match(0, second)).toBe(100);
    prefixes.blocks.empty(0);
    expect(prefixes.match(0, second)).toBe(0);
    expect(prefixes.blocks.scaleOf(0)).toBe(0.5);
    prefixes.enter(0, second);
    expect(prefixes.match(0, second)).toBe(100);
  });

  it('knows which beginnings are popular among its own prompts', () => {
    const prefixes = index();
    const common = randomText(1, 16);
    for (let i = 0; i < 300; i++) {
      prefixes.enter(i % 8, hashesOf(Uint8Array.of(...common, ...randomText(10 + i, 8))));
      prefixes.enter(i % 8, hashesOf(randomText(1_000 + i, 8)), false);
    }
    const asked = hashesOf(Uint8Array.of(...common, ...randomText(9_999, 8)));
    expect(prefixes.popularBlocks(asked, 20)).toBe(16);
    expect(prefixes.usesOf(asked, 16) / prefixes.usesOfAll()).toBeCloseTo(1, 1);
    expect(prefixes.popularBlocks(hashesOf(randomText(1_299, 8)), 4)).toBe(0);
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
