import { describe, expect, it } from 'vitest';
import { parseNumber } from './number.ts';

function read(text: string): number | undefined {
  const bytes = Buffer.from(`<${text}>`);
  return parseNumber(bytes, 1, bytes.length - 1);
}

describe('parseNumber', () => {
  it.each([
    ['0', 0],
    ['42.0', 42],
    ['-0.2', -0.2],
    ['+7', 7],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1_000],
    ['1.76243836732e+09', 1_762_438_367.32],
    ['9.223372036854775794e18', 2 ** 63],
    ['123456789012345678901234567890', 1.2345678901234568e29],
    ['2.2250738585072014e-308', 2.2250738585072014e-308],
    ['0.1', 0.1],
    ['1757900010.5', 1_757_900_010.5],
  ])('reads %s', (text, value) => {
    expect(read(text)).toBe(value);
  });

  it('reads the spellings of infinity and NaN that Number() does not know', () => {
    expect(read('+Inf')).toBe(Number.POSITIVE_INFINITY);
    expect(read('-Inf')).toBe(Number.NEGATIVE_INFINITY);
    expect(read('inf')).toBe(Number.POSITIVE_INFINITY);
    for (const text of ['NaN', 'nan', '-nan', '+NaN']) expect(read(text)).toBeNaN();
  });

  it.each(['', '-', '+', '.', 'e5', '1e', '1e+', '0x10', '1_000', '1,5', 'None', '1 2', '--1'])(
    'refuses %j',
    (text) => {
      expect(read(text)).toBeUndefined();
    },
  );
});
