/** One of the threads of prefix-index.threads.test.ts: enters prompts of its own over and over. */
import { parentPort, workerData } from 'node:worker_threads';
import { BlockHashes } from './block-hash.ts';
import { PrefixIndex, type PrefixIndexShape } from './prefix-index.ts';

interface Task {
  buffer: SharedArrayBuffer;
  shape: PrefixIndexShape;
  first: number;
  prompts: number;
}

const { buffer, shape, first, prompts } = workerData as Task;
const index = new PrefixIndex(buffer, shape);
const hashes = new BlockHashes();
for (let round = 0; round < 200; round++) {
  for (let prompt = first; prompt < first + prompts; prompt++) {
    hashes.set(new Uint8Array(4_096).fill(prompt), 1);
    index.enter(prompt % shape.endpointsMax, hashes);
  }
}
parentPort!.postMessage('done');
