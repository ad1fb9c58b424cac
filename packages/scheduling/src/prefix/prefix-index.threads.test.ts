/** Threads share the index without locks: what they overwrite of each other is lost, no more. */
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { BlockHashes, blockTokens } from './block-hash.ts';
import { createPrefixBuffer, PrefixIndex } from './prefix-index.ts';

const shape = {
  endpointsMax: 4,
  tokensPerEndpointMax: 65_536,
  distinctBlocksMax: 4_096,
  blockTokens,
};
const prompts = 8;

it('a thread finds what the others entered, whatever they did at the same time', async () => {
  const buffer = createPrefixBuffer(shape);
  const entry = new URL('./prefix-index.worker.ts', import.meta.url);
  await Promise.all(
    [0, 1, 2].map(
      (thread) =>
        new Promise((done, failed) => {
          const task = { buffer, shape, first: thread * prompts, prompts };
          const worker = new Worker(entry, { workerData: task });
          worker.on('message', done);
          worker.on('error', failed);
        }),
    ),
  );
  const index = new PrefixIndex(buffer, shape);
  const hashes = new BlockHashes();
  let found = 0;
  for (let prompt = 0; prompt < 3 * prompts; prompt++) {
    hashes.set(new Uint8Array(4_096).fill(prompt), 1);
    found += index.match(prompt % shape.endpointsMax, hashes) / hashes.count;
  }
  // Two threads that take the same way of a set at the same moment lose one entry of theirs.
  expect(found).toBeGreaterThan(0.8 * 3 * prompts);
  hashes.set(new Uint8Array(4_096).fill(200), 1);
  expect(index.match(0, hashes)).toBe(0);
});
