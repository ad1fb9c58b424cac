/** The writing thread of history-ring.test.ts: 20,000 records of changing length. */
import { workerData } from 'node:worker_threads';
import { BlockHashes } from '../prefix/block-hash.ts';
import { HistoryWriter } from './history-ring.ts';

const writer = new HistoryWriter(workerData as SharedArrayBuffer);
const hashes = new BlockHashes();
for (let record = 0; record < 20_000; record++) {
  hashes.count = 1 + (record % 50);
  for (let i = 0; i < hashes.count; i++) {
    hashes.high[i] = record;
    hashes.low[i] = i;
  }
  writer.write(record, hashes, 0);
}
