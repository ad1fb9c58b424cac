import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RequestFields } from './request-fields.ts';

function feed(bytes: Uint8Array, step: number): RequestFields {
  const fields = new RequestFields();
  for (let at = 0; at < bytes.length; at += step) {
    fields.scanner.feed(bytes, at, Math.min(bytes.length, at + step));
  }
  return fields;
}

test('whatever JSON.parse accepts as an object is followed to its end, and its model is read', () => {
  const withModel = fc.tuple(
    fc.dictionary(fc.string({ maxLength: 12 }), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 6 }),
    fc.string({ maxLength: 60, unit: 'grapheme' }),
    fc.nat(2),
  );
  fc.assert(
    fc.property(withModel, fc.integer({ min: 1, max: 40 }), ([rest, model, indent], step) => {
      const body = Buffer.from(JSON.stringify({ ...rest, model }, null, indent));
      const fields = feed(body, step);
      expect(fields.scanner.complete).toBe(true);
      expect(fields.model).toBe(model);
    }),
  );
});

test('arbitrary bytes never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const fields = feed(Buffer.concat([Buffer.from('{"prompt":'), bytes]), 16);
      expect(fields.promptTokens).toBeGreaterThanOrEqual(0);
      expect(fields.prompt?.length ?? 0).toBeLessThan(1_000);
    }),
    { numRuns: 1_000 },
  );
});

test('a document that is cut is read the same as when it comes in one piece', () => {
  const text = fc.string({ maxLength: 200, unit: 'binary' });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 20 }), (prompt, step) => {
      const body = Buffer.from(JSON.stringify({ prompt }));
      const [whole, cut] = [feed(body, body.length), feed(body, step)];
      expect(cut.prompt).toEqual(whole.prompt);
      expect(cut.promptTokens).toBe(whole.promptTokens);
    }),
  );
});
