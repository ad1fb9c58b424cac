import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { createInFlightBuffer, InFlightField, InFlightTable } from './in-flight-table.ts';

const shape = { endpointsMax: 8, workers: 2 };

test('totals are the sum over workers and each worker sees its own share', () => {
  const buffer = createInFlightBuffer(shape);
  const first = new InFlightTable(buffer, shape, 0);
  const second = new InFlightTable(buffer, shape, 1);
  first.add(3, InFlightField.requests, 1);
  second.add(3, InFlightField.requests, 1);
  second.add(3, InFlightField.promptTokens, 500);
  expect(first.total(3, InFlightField.requests)).toBe(2);
  expect(first.own(3, InFlightField.requests)).toBe(1);
  expect(new InFlightTable(buffer, shape, -1).total(3, InFlightField.promptTokens)).toBe(500);
  second.add(3, InFlightField.requests, -1);
  expect(first.total(3, InFlightField.requests)).toBe(1);
  expect(first.total(2, InFlightField.requests)).toBe(0);
});

test('the share of a worker that died is taken back, the others keep theirs', () => {
  const buffer = createInFlightBuffer(shape);
  const alive = new InFlightTable(buffer, shape, 0);
  const dead = new InFlightTable(buffer, shape, 1);
  alive.add(1, InFlightField.requests, 2);
  dead.add(1, InFlightField.requests, 5);
  dead.add(7, InFlightField.requests, 1);
  dead.add(7, InFlightField.decoding, 1);
  expect(alive.forgetWorker(1)).toBe(6);
  expect(alive.total(1, InFlightField.requests)).toBe(2);
  expect(alive.total(7, InFlightField.requests)).toBe(0);
  expect(alive.total(7, InFlightField.decoding)).toBe(0);
  expect(alive.forgetWorker(1)).toBe(0);
});

test('concurrent additions from two threads lose nothing', async () => {
  const buffer = createInFlightBuffer(shape);
  const own = new InFlightTable(buffer, shape, 0);
  const worker = new Worker(
    `const { workerData } = require('node:worker_threads');
     const words = new Int32Array(workerData.buffer);
     for (let i = 0; i < 200000; i++) { Atomics.add(words, 64, 1); Atomics.add(words, 0, 1); }`,
    { eval: true, workerData: { buffer } },
  );
  const ended = once(worker, 'exit');
  for (let i = 0; i < 200_000; i++) own.add(0, InFlightField.requests, 1);
  await ended;
  expect(own.total(0, InFlightField.requests)).toBe(400_000);
});

test('a buffer of another shape and a worker without a row are refused', () => {
  expect(() => new InFlightTable(new SharedArrayBuffer(16), shape, 0)).toThrow(RangeError);
  expect(() => new InFlightTable(createInFlightBuffer(shape), shape, 2)).toThrow(RangeError);
});
