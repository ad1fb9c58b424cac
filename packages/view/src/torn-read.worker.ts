/**
 * Thread of the torn-read test. The writer fills slots with reports whose numbers are all equal; a
 * reader refreshes for as long as told and counts slots whose numbers are not.
 *
 * `locked: false` makes the writer store the same words without the slot's lock, moving the
 * sequence by two afterwards: the fault that the test must be able to see.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { copyReport, metricsCount } from '@leadsman/wire';
import { bodyWord, bodyWords, headerWord, ViewMemory } from './layout.ts';
import { ViewReader } from './reader.ts';
import { sampleWords } from './sample-report.ts';
import { ViewWriter } from './writer.ts';

export interface TornReadTask {
  shared: ArrayBufferLike;
  /** i32 words: 0 stop, 1 torn reads seen so far. */
  control: SharedArrayBuffer;
  role: 'writer' | 'reader';
  locked: boolean;
  slots: number;
}

export interface TornReadResult {
  /** Slots written, or slots copied. */
  slots: number;
  torn: number;
  backwards: number;
}

const task = workerData as TornReadTask;
const control = new Int32Array(task.control);
parentPort?.postMessage(task.role === 'writer' ? write() : read());

function write(): TornReadResult {
  const writer = new ViewWriter(task.shared);
  const memory = new ViewMemory(task.shared);
  const samples = Array.from({ length: task.slots }, (_, i) => sampleWords({ uid: `pod-${i}` }));
  for (let slot = 0; slot < task.slots; slot++) writer.allocate();
  let round = 0;
  while (Atomics.load(control, 0) === 0) {
    round++;
    for (let slot = 0; slot < task.slots; slot++) {
      const { floats, ints } = samples[slot]!;
      floats.fill(round, 9);
      if (task.locked || round === 1) {
        writer.storeReport(slot, floats, ints, 0, round, round);
        continue;
      }
      const at = slot * bodyWords + bodyWord.report;
      copyReport(floats, ints, 0, memory.bodyFloats, memory.bodyInts, at);
      Atomics.add(memory.sequences, slot, 2);
    }
    Atomics.add(memory.header, headerWord.commits, 1);
  }
  return { slots: round * task.slots, torn: 0, backwards: 0 };
}

function read(): TornReadResult {
  const reader = new ViewReader(task.shared);
  const numbers = new Float64Array(metricsCount);
  const last = new Float64Array(task.slots);
  const result = { slots: 0, torn: 0, backwards: 0 };
  while (Atomics.load(control, 0) === 0) {
    reader.refresh();
    for (let i = 0; i < reader.changedCount; i++) {
      const slot = reader.changed[i]!;
      reader.copyNumbers(slot, numbers, 0);
      result.slots++;
      if (numbers.some((value) => value !== numbers[0])) {
        result.torn++;
        Atomics.add(control, 1, 1);
      }
      if (numbers[0]! < last[slot]!) result.backwards++;
      last[slot] = numbers[0]!;
    }
    Atomics.add(control, 2, reader.changedCount);
  }
  return result;
}
