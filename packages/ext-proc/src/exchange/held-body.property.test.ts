import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteBudget } from '../byte-budget.ts';
import { HeldBody } from './held-body.ts';

const budgetBytes = 64 * 1_048_576;

/** A chunk as the transport delivers it: a view into a larger buffer, which is reused in `spoil`. */
interface Chunk {
  bytes: Uint8Array;
  bufferBytes: number;
}

const chunkOf = fc
  .tuple(fc.oneof(fc.nat(300), fc.nat(70_000)), fc.nat(65_536), fc.nat(255))
  .map(([length, around, fill]): Chunk => {
    const buffer = new Uint8Array(length + around);
    const bytes = buffer.subarray(0, length).fill(fill);
    for (let i = 0; i < length; i += 97) bytes[i] = i;
    return { bytes, bufferBytes: buffer.length };
  });

const step = fc.oneof(
  { weight: 5, arbitrary: chunkOf },
  { weight: 2, arbitrary: fc.constant('take' as const) },
);

test('what goes in comes out in order, and the account is even at every end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, clears) => {
      const budget = new ByteBudget(budgetBytes);
      const held = new HeldBody(budget);
      const put: Uint8Array[] = [];
      const got: Uint8Array[] = [];
      for (const next of steps) {
        if (next === 'take') {
          const piece = held.take();
          if (piece !== undefined) got.push(piece);
        } else {
          expect(Buffer.compare(held.add(next.bytes, false), next.bytes)).toBe(0);
          put.push(next.bytes);
        }
        expect(held.isEmpty).toBe(held.bytes === 0);
        expect(budget.usedBytes).toBeGreaterThanOrEqual(held.bytes);
      }
      if (clears) {
        held.clear();
      } else {
        for (let piece = held.take(); piece !== undefined; piece = held.take()) got.push(piece);
        expect(Buffer.compare(Buffer.concat(got), Buffer.concat(put))).toBe(0);
      }
      expect([held.isEmpty, held.bytes, budget.usedBytes]).toEqual([true, 0, 0]);
    }),
  );
});

test('a body that trickles in holds little more than its size, and is charged for that', () => {
  const budget = new ByteBudget(budgetBytes);
  const held = new HeldBody(budget);
  for (let i = 0; i < 10_000; i++) {
    // Each byte comes in a read buffer full of other streams' data.
    held.add(new Uint8Array(65_536).subarray(7, 8).fill(i), false);
  }
  expect(budget.usedBytes).toBeLessThan(20_000);
  const buffers = new Set<ArrayBufferLike>();
  let pieces = 0;
  for (let piece = held.take(); piece !== undefined; piece = held.take()) {
    pieces++;
    buffers.add(piece.buffer);
  }
  let bytes = 0;
  for (const buffer of buffers) bytes += buffer.byteLength;
  expect(bytes).toBeLessThan(20_000);
  expect(pieces).toBeLessThan(10);
});
