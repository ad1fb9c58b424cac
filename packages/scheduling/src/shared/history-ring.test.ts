import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { BlockHashes } from '../prefix/block-hash.ts';
import { createHistoryBuffer, HistoryReader, HistoryWriter } from './history-ring.ts';

/** Blocks that tell their record and position, so that a torn record shows. */
function blocksOf(record: number, count: number): BlockHashes {
  const hashes = new BlockHashes();
  hashes.count = count;
  for (let i = 0; i < count; i++) {
    hashes.high[i] = record;
    hashes.low[i] = i;
  }
  return hashes;
}

function drain(reader: HistoryReader): { endpoint: number; high: number[]; low: number[] }[] {
  const scratch = new BlockHashes();
  const records: { endpoint: number; high: number[]; low: number[] }[] = [];
  reader.drain(scratch, (endpoint) => {
    const high = [...scratch.high.subarray(0, scratch.count)];
    records.push({ endpoint, high, low: [...scratch.low.subarray(0, scratch.count)] });
  });
  return records;
}

describe('the history ring', () => {
  it('hands over what was written, from the first block that is news', () => {
    const buffer = createHistoryBuffer();
    const writer = new HistoryWriter(buffer);
    const reader = new HistoryReader(buffer);
    writer.write(7, blocksOf(1, 4), 2);
    writer.write(8, blocksOf(2, 3), 3);
    writer.write(9, blocksOf(3, 1), 0);
    expect(drain(reader)).toEqual([
      { endpoint: 7, high: [1, 1], low: [2, 3] },
      { endpoint: 9, high: [3], low: [0] },
    ]);
    expect(drain(reader)).toEqual([]);
  });

  it('goes round for ever, and drops whole records when nobody reads', () => {
    const buffer = createHistoryBuffer();
    const writer = new HistoryWriter(buffer);
    const reader = new HistoryReader(buffer);
    for (let round = 0; round < 600; round++) {
      writer.write(round, blocksOf(round, 300), 0);
      const [record] = drain(reader);
      expect([record?.endpoint, record?.high.length]).toEqual([round, 300]);
      expect(record?.high.every((high) => high === round)).toBe(true);
    }
    expect(reader.dropped).toBe(0);
    for (let round = 0; round < 200; round++) writer.write(round, blocksOf(round, 512), 0);
    const records = drain(reader);
    expect(records.length + reader.dropped).toBe(200);
    expect(reader.dropped).toBeGreaterThan(0);
    expect(records.every(({ high, low }) => high.length === 512 && low[511] === 511)).toBe(true);
  });

  it('never shows half a record to another thread', async () => {
    const buffer = createHistoryBuffer();
    const reader = new HistoryReader(buffer);
    const entry = new URL('./history-ring.worker.ts', import.meta.url);
    const worker = new Worker(entry, { workerData: buffer });
    let seen = 0;
    let ended = false;
    worker.on('exit', () => {
      ended = true;
    });
    const deadline = performance.now() + 20_000;
    // What was written between a look and the end is still to be read.
    for (let left = 1, wasEnded = false; left > 0 || !wasEnded; ) {
      wasEnded = ended;
      const records = drain(reader);
      left = records.length;
      for (const { endpoint, high, low } of records) {
        expect(high.every((value) => value === endpoint)).toBe(true);
        expect(low).toEqual(low.map((_, i) => i));
      }
      seen += records.length;
      if (performance.now() > deadline) throw new Error('the writer did not end');
      await new Promise(setImmediate);
    }
    expect(seen + reader.dropped).toBe(20_000);
  });
});
