import { describe, expect, it } from 'vitest';
import { blockGrain } from './block-grain.ts';
import { type OverlayOptions, overlay } from './overlay.ts';
import type { Trace, TraceRow } from './trace.ts';

const row = (atMs: number, session: number, inputTokens: number, runs: number[]): TraceRow => ({
  atMs,
  inputTokens,
  outputTokens: 130,
  session,
  runs,
});
const trace: Trace = {
  name: 't',
  source: 's',
  license: 'l',
  blockTokens: 64,
  global: [1],
  spanMs: 10_000,
  rows: [
    row(100, 0, 200, [1, 3]),
    row(500, 1, 150, [1, 1, 50, 1]),
    row(5_000, 0, 64 * 8, [1, 8]),
    row(6_000, -1, 128, []),
  ],
};
const options: OverlayOptions = {
  workMs: 12,
  rowMs: () => 1,
  durationMs: 10_000,
  replicas: 2,
  tokensMax: 100_000,
  isClosed: false,
  seed: 3,
};
const ids = (blocks: ArrayLike<number>) => Array.from(blocks);

describe('overlay', () => {
  it('lays copies over each other until the work is as wanted', () => {
    const requests = overlay(trace, options);
    expect(requests.length).toBeGreaterThanOrEqual(11);
    expect(requests.length).toBeLessThanOrEqual(13);
    expect(requests.map(({ id }) => id)).toEqual(requests.map((_, i) => i));
    for (const [i, { atMs }] of requests.entries()) {
      expect(atMs).toBeGreaterThanOrEqual(requests[i - 1]?.atMs ?? 0);
      expect(atMs).toBeLessThan(10_000);
    }
    expect(overlay(trace, options)).toEqual(requests);
    expect(overlay(trace, { ...options, seed: 4 })).not.toEqual(requests);
  });

  it('shares global ids between copies and nothing else', () => {
    const requests = overlay(trace, { ...options, workMs: 40 });
    const firsts = requests.filter(({ promptTokens }) => promptTokens === 200);
    expect(firsts.length).toBeGreaterThan(5);
    expect(new Set(firsts.map(({ blocks }) => blocks[0])).size).toBe(1);
    expect(new Set(firsts.map(({ blocks }) => blocks[1])).size).toBe(firsts.length);
    expect(new Set(firsts.map(({ session }) => session)).size).toBe(firsts.length);
  });

  it('names the blocks of an answer as the next turn has them', () => {
    const requests = overlay(trace, { ...options, workMs: 60 });
    let pairs = 0;
    for (const turn of requests) {
      if (turn.promptTokens !== 512) continue;
      const before = requests.find((each) => each.session === turn.session && each !== turn);
      if (before === undefined) continue;
      pairs++;
      // 200 tokens of prompt and 129 of the answer's 130 are 5 whole blocks.
      expect(before.blocks).toHaveLength(3);
      expect(ids(before.engineBlocks)).toEqual(ids(turn.blocks).slice(0, 5));
      // Nothing goes on from the turn: its answer is its own.
      expect(turn.engineBlocks).toHaveLength(10);
      const answer = ids(turn.engineBlocks).slice(8);
      const others = requests.filter((each) => each !== turn);
      const theirs = new Set(others.flatMap(({ engineBlocks }) => ids(engineBlocks)));
      expect(answer.some((id) => theirs.has(id))).toBe(false);
    }
    expect(pairs).toBeGreaterThan(5);
  });

  it('takes blocks beyond those given for private ones', () => {
    const requests = overlay(trace, { ...options, workMs: 20 });
    const blind = requests.filter(({ session }) => session < 0);
    expect(blind.length).toBeGreaterThan(1);
    const used = blind.flatMap(({ engineBlocks }) => ids(engineBlocks));
    expect(new Set(used).size).toBe(used.length);
  });

  it('leaves out what fits into no engine, and says so when nothing is left', () => {
    const fitting = overlay(trace, { ...options, tokensMax: 400 });
    expect(Math.max(...fitting.map(({ promptTokens }) => promptTokens))).toBe(200);
    expect(() => overlay(trace, { ...options, tokensMax: 10 })).toThrow(
      'no request of t fits into 10 tokens',
    );
  });

  it('lets a turn of a closed loop wait for the answer before', () => {
    const requests = overlay(trace, { ...options, isClosed: true, durationMs: 10_000 });
    const waiting = requests.filter(({ after }) => after !== undefined);
    expect(waiting.length).toBeGreaterThan(0);
    for (const { after, session } of waiting) {
      expect(requests[after!.id]!.session).toBe(session);
      expect(after!.thinkMs).toBeGreaterThan(0);
    }
  });
});

describe('blockGrain', () => {
  it.each([
    [64, { tokens: 64, split: 1, group: 1 }],
    [512, { tokens: 64, split: 8, group: 1 }],
    [16, { tokens: 64, split: 1, group: 4 }],
    [24, { tokens: 72, split: 1, group: 3 }],
    [100, { tokens: 100, split: 1, group: 1 }],
    [1, { tokens: 64, split: 1, group: 64 }],
  ])('is about 64 tokens for blocks of %i', (given, expected) => {
    expect(blockGrain(given)).toEqual(expected);
  });
});
