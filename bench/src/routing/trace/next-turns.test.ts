import { expect, it } from 'vitest';
import { nextTurns } from './next-turns.ts';
import type { TraceRow } from './trace.ts';

const row = (session: number, inputTokens: number, runs: number[]): TraceRow => ({
  atMs: 0,
  inputTokens,
  outputTokens: 1,
  session,
  runs,
});

it('finds the turn that goes on from another, in one session, past its whole blocks', () => {
  const rows = [
    row(0, 150, [1, 3]), // its third block is partial
    row(1, 150, [1, 3]),
    row(0, 300, [1, 2, 40, 3]), // goes on from the first
    row(0, 300, [9, 5]), // begins anew
    row(1, 128, [1, 2]), // nothing follows
    row(-1, 128, [1, 2]),
    row(-1, 300, [1, 5]),
  ];
  const trace = { name: '', source: '', license: '', blockTokens: 64, global: [], spanMs: 1, rows };
  expect(Array.from(nextTurns(trace))).toEqual([2, -1, -1, -1, -1, -1, -1]);
});
