import { describe, expect, it } from 'vitest';
import { PeerPrefixIndex } from './peer-prefix-index.ts';

function blocks(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => from + i);
}

describe('PeerPrefixIndex', () => {
  it('matches the part of a prompt that the pod was sent', () => {
    const index = new PeerPrefixIndex(2, 64_000, 64);
    index.record(0, blocks(0, 10));
    const longer = [...blocks(0, 10), ...blocks(9_000, 10)];
    expect(index.matchedRatio(0, longer)).toBe(0.5);
    expect(index.matchedRatio(1, longer)).toBe(0);
    expect(index.matchedRatio(0, [])).toBe(0);
  });

  it('forgets the least recently used blocks beyond the size of the KV cache', () => {
    const index = new PeerPrefixIndex(1, 20 * 64, 64);
    index.record(0, blocks(1_000, 10));
    index.record(0, blocks(2_000, 10));
    index.record(0, blocks(1_000, 10));
    index.record(0, blocks(3_000, 5));
    expect(index.matchedRatio(0, blocks(1_000, 10))).toBe(1);
    expect(index.matchedRatio(0, blocks(2_000, 10))).toBe(0.5);
    expect(index.matchedRatio(0, blocks(3_000, 5))).toBe(1);
  });
});
