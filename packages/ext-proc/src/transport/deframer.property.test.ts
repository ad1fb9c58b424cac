import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteBudget } from '../byte-budget.ts';
import { Deframer } from './deframer.ts';

function frame(message: Uint8Array, flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Everything a deframer reports, as one list. */
function listen(messageBytesMax: number, budget = new ByteBudget(1e9)) {
  const events: (string | number)[] = [];
  const deframer = new Deframer(
    {
      message: (bytes) => events.push(Buffer.from(bytes).toString('hex')),
      oversized: (bytes) => events.push(bytes),
      compressed: () => events.push('compressed'),
    },
    messageBytesMax,
    budget,
  );
  return { deframer, events, budget };
}

function feedCut(deframer: Deframer, bytes: Buffer, cuts: readonly number[]): void {
  let at = 0;
  for (const cut of [...cuts].map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)) {
    deframer.feed(bytes.subarray(at, cut));
    at = Math.max(at, cut);
  }
  deframer.feed(bytes.subarray(at));
}

const messages = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 });
const cuts = fc.array(fc.nat(3_000), { maxLength: 30 });

test('messages come out whole, in order, wherever the frames are cut; no budget is kept', () => {
  fc.assert(
    fc.property(messages, cuts, (sent, at) => {
      const { deframer, events, budget } = listen(300);
      feedCut(deframer, Buffer.concat(sent.map((message) => frame(message))), at);
      expect(events).toEqual(sent.map((message) => Buffer.from(message).toString('hex')));
      expect(budget.usedBytes).toBe(0);
    }),
  );
});

test('an oversized message is reported once, skipped, and the next one is read', () => {
  fc.assert(
    fc.property(fc.integer({ min: 11, max: 400 }), cuts, (length, at) => {
      const { deframer, events } = listen(10);
      const bytes = Buffer.concat([frame(Buffer.alloc(length)), frame(Buffer.from([7]))]);
      feedCut(deframer, bytes, at);
      expect(events).toEqual([length, '07']);
    }),
  );
});

test('a claim of 4 GB costs nothing', () => {
  const { deframer, events, budget } = listen(1_000);
  deframer.feed(Buffer.from([0, 0xff, 0xff, 0xff, 0xff]));
  expect(events).toEqual([0xffffffff]);
  expect(budget.usedBytes).toBe(0);
});

test('memory follows what arrived, and a message for which there is none is skipped', () => {
  const { deframer, events, budget } = listen(1_000_000, new ByteBudget(40_000));
  const bytes = Buffer.concat([frame(Buffer.alloc(100_000)), frame(Buffer.from([1]))]);
  deframer.feed(bytes.subarray(0, 10_000));
  expect(budget.usedBytes).toBe(16_384);
  for (let at = 10_000; at < bytes.length; at += 10_000) {
    deframer.feed(bytes.subarray(at, at + 10_000));
  }
  expect(events).toEqual([100_000, '01']);
  expect(budget.usedBytes).toBe(0);
});

test('the compressed flag ends the reading', () => {
  const { deframer, events } = listen(100);
  deframer.feed(Buffer.concat([frame(Buffer.from([1]), 1), frame(Buffer.from([2]))]));
  expect(events).toEqual(['compressed']);
});
