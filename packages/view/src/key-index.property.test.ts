import { podKeyText } from '@leadsman/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyIndex, parsePodKey } from './key-index.ts';

/** Few distinct words, so that keys share words and collide in cells. */
const word = fc.constantFrom(0, 1, -1, 0x7fffffff, 64, 128);
const key = fc.tuple(word, word, word, word, fc.constantFrom(8000, 8001));

test('behaves like a map from key and port to number', () => {
  const step = fc.record({ key, value: fc.nat(1000), remove: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const index = new KeyIndex();
      const model = new Map<string, number>();
      for (const { key: parts, value, remove } of steps) {
        const [a, b, c, d, port] = parts;
        const words = new Int32Array([a, b, c, d]);
        if (remove) {
          index.delete(words, 0, port);
          model.delete(parts.join());
        } else {
          index.set(words, 0, port, value);
          model.set(parts.join(), value);
        }
        expect(index.size).toBe(model.size);
      }
      for (const { key: parts } of steps) {
        const [a, b, c, d, port] = parts;
        expect(index.get(new Int32Array([a, b, c, d]), 0, port)).toBe(
          model.get(parts.join()) ?? -1,
        );
      }
    }),
  );
});

test('a pod key survives text and back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const words = new Int32Array(6);
      expect(parsePodKey(podKeyText(bytes), words, 1)).toBe(true);
      expect(new Uint8Array(words.buffer).slice(4, 20)).toEqual(bytes);
    }),
  );
});

test.each(['', 'x', '0'.repeat(36), '-'.repeat(36), '123e4567-e89b-12d3-a456-42661417400g'])(
  'refuses %j as a pod key',
  (text) => {
    expect(parsePodKey(text, new Int32Array(4), 0)).toBe(false);
  },
);

test('keeps its entries when it grows by thousands and shrinks again', () => {
  const index = new KeyIndex();
  const words = new Int32Array(4);
  for (let i = 0; i < 5_000; i++) {
    words[2] = i;
    index.set(words, 0, 8000, i);
  }
  for (let i = 0; i < 5_000; i += 2) {
    words[2] = i;
    index.delete(words, 0, 8000);
  }
  expect(index.size).toBe(2_500);
  for (let i = 0; i < 5_000; i++) {
    words[2] = i;
    expect(index.get(words, 0, 8000)).toBe(i % 2 === 0 ? -1 : i);
  }
});
