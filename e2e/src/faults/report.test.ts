import { expect, it } from 'vitest';
import { cellsOf, type Outcome } from './cell.ts';
import { tableOf, withTable } from './report.ts';

const outcomes = cellsOf([]).map((cell): Outcome => {
  const numbers = {
    slow: 0,
    slowestMs: 91.4,
    oldestMs: Number.NaN,
    oldestFreshMs: 1_900,
    wholeMs: 300,
  };
  const counts = { requests: 500, failed: 1, failedUnderWay: 1, heldByEngine: 0, failures: {} };
  return { ...cell, ...numbers, ...counts };
});

it('has a row per cell, unknown ages as such and breaches in words', () => {
  const rows = tableOf(outcomes).split('\n');
  expect(rows).toHaveLength(outcomes.length + 2);
  expect(rows[2]).toBe(
    '| a sidecar | SIGKILL | 500 | 1 | 0 | 0 | 91 | – | 1900 | 300 | 1 requests failed, 0 may |',
  );
});

it('replaces what is between the marks only, again and again', () => {
  const marks = 'before\n<!-- table: npm run test:faults -->\nold\n<!-- end of table -->\nafter\n';
  const once = withTable(marks, '| new |');
  expect(once).toContain('before\n');
  expect(once).toContain('| new |');
  expect(once).not.toContain('old');
  expect(once.endsWith('after\n')).toBe(true);
  expect(withTable(once, '| new |')).toBe(once);
  expect(() => withTable('nothing', '')).toThrow('no <!--');
});
