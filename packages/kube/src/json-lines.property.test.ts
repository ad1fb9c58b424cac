import fc from 'fast-check';
import { expect, it } from 'vitest';
import { KubeError } from './error.ts';
import { JsonLines } from './json-lines.ts';

const text = fc.string({ unit: 'grapheme' });

it('gives the same values however the bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ type: text, n: fc.integer() }), { maxLength: 8 }),
      fc.array(fc.nat(40), { maxLength: 30 }),
      (values, cuts) => {
        const bytes = Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));
        const seen: unknown[] = [];
        const lines = new JsonLines((value) => seen.push(value));
        let at = 0;
        for (const cut of cuts) {
          lines.push(bytes.subarray(at, at + cut));
          at += cut;
        }
        lines.push(bytes.subarray(at));
        expect(seen).toEqual(values);
      },
    ),
  );
});

it('fails on any bytes only with its own error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const lines = new JsonLines(() => {}, 100);
      try {
        lines.push(Buffer.from(bytes));
      } catch (error) {
        expect(error).toBeInstanceOf(KubeError);
      }
    }),
  );
});

it('refuses a line that never ends', () => {
  const lines = new JsonLines(() => {}, 1_000);
  const push = () => {
    for (let i = 0; i < 20; i++) lines.push(Buffer.alloc(100, 0x20));
  };
  expect(push).toThrow(/exceeds 1000 bytes/);
});
