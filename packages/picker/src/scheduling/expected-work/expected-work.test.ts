import { describe, expect, it } from 'vitest';
import { createRig, endpointsOf, type Rig, tally } from '../fixture/scheduler-rig.ts';
import { remoteHeader } from '../ledger.ts';
import { BlockHashes } from '../prefix/block-hash.ts';
import type { Pick } from '../scheduler.ts';

const nowMs = 10_000;
const utf8 = new TextEncoder();
/** 4,000 bytes: 15 whole blocks of some 64 tokens each. */
const prompt = utf8.encode('All human beings are born free and equal. '.repeat(100).slice(0, 4_000));
const promptTokens = 1_000;

async function rigOf(count: number, seed = 1): Promise<Rig> {
  const config = 'default: { strategy: expected-work }';
  return await createRig({ config, endpoints: endpointsOf(count), seed, nowMs });
}

function report(rig: Rig, index: number, numbers: object): void {
  const endpoint = endpointsOf(index + 1)[index]!;
  rig.gauges.report(endpoint, {
    measuredAtMs: nowMs - 20,
    runningRequests: 0,
    waitingRequests: 0,
    kvCacheUsageRatio: 0,
    kvCacheCapacityTokens: 400_000,
    ...numbers,
  });
}

function enter(rig: Rig, index: number): void {
  const hashes = new BlockHashes();
  const pick = rig.pick({ prompt, promptTokens });
  rig.scheduler.release(pick.ticket, { outputTokens: 1, aborted: false });
  // Entered where it was picked, whichever that was; here it is wanted at `index`, too.
  hashes.copy?.(hashes);
  while (rig.pick({ prompt, promptTokens }).endpoint?.index !== index);
}

describe('expected-work', () => {
  it('sends a prompt to where its beginning was sent before', async () => {
    const rig = await rigOf(4);
    const first = rig.pick({ prompt, promptTokens });
    rig.scheduler.release(first.ticket, { outputTokens: 10, aborted: false });
    for (let i = 0; i < 20; i++) {
      const again = rig.pick({ prompt, promptTokens });
      expect(again.destination).toBe(first.destination);
      rig.scheduler.release(again.ticket, { outputTokens: 10, aborted: false });
    }
  });
});
