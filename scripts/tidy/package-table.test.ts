import { expect, it } from 'vitest';
import { tableBreaches } from './package-table.ts';

const table = '| `packages/a` | one | none |\n| `packages/b` | two | a, c |\n';

it('is silent about a true table', () => {
  const packages = new Map([
    ['a', new Set(['wire'])],
    ['b', new Set(['a', 'c', 'service'])],
  ]);
  expect(tableBreaches(table, packages)).toEqual([]);
});

it('says what is missing, too much, or not there at all', () => {
  const packages = new Map([
    ['a', new Set(['c'])],
    ['b', new Set(['a'])],
    ['c', new Set<string>()],
  ]);
  expect(tableBreaches(table, packages)).toEqual([
    'ARCHITECTURE.md: packages/a imports c, which its row lacks',
    'ARCHITECTURE.md: packages/b does not import c, as its row says',
    'ARCHITECTURE.md: the table of packages lacks packages/c',
  ]);
});
