import { expect, it } from 'vitest';
import { isCollapsed } from './collapse.ts';

const of = (value: (at: number) => number) => Array.from({ length: 100 }, (_, i) => value(i));

it('is a queue that is long and still grows at the end', () => {
  expect(
    isCollapsed(
      of((at) => at * 3),
      8,
    ),
  ).toBe(true);
  expect(
    isCollapsed(
      of(() => 0),
      8,
    ),
  ).toBe(false);
  expect(
    isCollapsed(
      of(() => 200),
      8,
    ),
  ).toBe(false);
  // From a cold start on it shrinks.
  expect(
    isCollapsed(
      of((at) => 300 - at * 3),
      8,
    ),
  ).toBe(false);
  expect(
    isCollapsed(
      of((at) => at / 10),
      8,
    ),
  ).toBe(false);
  expect(isCollapsed([], 8)).toBe(false);
});
