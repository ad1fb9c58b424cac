import { expect, it } from 'vitest';
import { growthBreach, growthOf, type ProcessSample } from './growth.ts';

const megabyte = 1_048_576;

/** A sample per second for `minutes`, `grow` more bytes a minute, on a heap that breathes. */
function run(minutes: number, grow: number): ProcessSample[] {
  return Array.from({ length: minutes * 60 }, (_, second) => ({
    atMs: second * 1_000,
    bytes: 100 * megabyte + (second % 20) * 0.4 * megabyte + (grow * second) / 60,
    handles: 30,
  }));
}
const rest = { before: 30, after: 31 };

it('a heap that breathes is flat', () => {
  const growth = growthOf('agent', run(10, 0), rest);
  expect(growthBreach(growth)).toBeUndefined();
  expect(Math.abs(growth.bytesPerMinute)).toBeLessThan(megabyte / 10);
});

it('a leak is found, and its rate told', () => {
  const growth = growthOf('agent', run(10, 8 * megabyte), rest);
  expect(growthBreach(growth)).toContain('memory grew');
  expect(growth.bytesPerMinute / megabyte).toBeCloseTo(8, 0);
});

it('handles that stay are found, and so is a run that shows nothing', () => {
  expect(growthBreach(growthOf('picker', run(1, 0), { before: 30, after: 90 }))).toContain(
    'handles',
  );
  expect(growthBreach(growthOf('picker', run(1, 0).slice(0, 4), rest))).toContain('samples');
});
