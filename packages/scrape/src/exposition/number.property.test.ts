import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseNumber } from './number.ts';

function read(text: string): number | undefined {
  const bytes = Buffer.from(text);
  return parseNumber(bytes, 0, bytes.length);
}

it('reads every double exactly as the runtime prints it', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(read(String(value))).toBe(value === 0 ? Number(String(value)) : value);
    }),
  );
});

it('reads decimals of any length exactly as the runtime reads them', () => {
  const decimal = fc.stringMatching(/^[+-]?\d{1,25}(\.\d{0,25})?([eE][+-]?\d{1,3})?$/);
  fc.assert(
    fc.property(decimal, (text) => {
      expect(read(text)).toBe(Number(text));
    }),
  );
});

it('never throws, and takes nothing that is no number', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const value = parseNumber(bytes, 0, bytes.length);
      const text = Buffer.from(bytes).toString('latin1').toLowerCase();
      if (value === undefined || /inf|nan/.test(text)) return;
      expect(value).toBe(Number(text));
    }),
  );
});
