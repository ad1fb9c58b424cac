/**
 * Which request of a session goes on where another ended: its prompt begins with all whole blocks
 * of that one's, so that what follows there is the other's answer.
 */
import { blockIds, type Trace } from './trace.ts';

/** By row: the row that goes on from it, or -1. */
export function nextTurns({ rows, blockTokens }: Trace): Int32Array {
  const next = new Int32Array(rows.length).fill(-1);
  const last = new Map<number, { row: number; ids: number[] }>();
  for (const [at, row] of rows.entries()) {
    if (row.session < 0) continue;
    const ids = blockIds(row, blockTokens);
    const before = last.get(row.session);
    if (before !== undefined) {
      const whole = Math.floor(rows[before.row]!.inputTokens / blockTokens);
      if (ids.length > whole && beginsAlike(before.ids, ids, whole)) next[before.row] = at;
    }
    last.set(row.session, { row: at, ids });
  }
  return next;
}

function beginsAlike(a: readonly number[], b: readonly number[], count: number): boolean {
  if (a.length < count) return false;
  for (let i = 0; i < count; i++) if (a[i] !== b[i]) return false;
  return true;
}
