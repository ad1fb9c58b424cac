/**
 * A prefix that every request has in common, at a rate that two of eight pods could just serve.
 * Pickers that go by cache hits alone have been seen to use two pods and leave six idle.
 */
import { configForStrategy } from '@leadsman/scheduling/hub/strategy-file/strategy-file';
import { SeededRandom } from '@leadsman/testing';
import { expect, it } from 'vitest';
import { createPolicy, type PolicyName } from './policies.ts';
import { blockTokens, type RoutingRequest } from './request.ts';
import { simulate } from './simulate.ts';

const config = await configForStrategy('expected-work');
const pods = 8;
const prefixTokens = 4_096;
const questionTokens = 200;
const outputTokens = 300;
/** Two pods with some 50 requests each, at 13 ms a token, serve 25 a second. */
const requestsPerSecond = 25;
const count = 1_000;
const measuredFrom = 200;

function requests(): RoutingRequest[] {
  const random = new SeededRandom(5);
  const shared = Array.from({ length: prefixTokens / blockTokens }, (_, i) => i + 1);
  let atMs = 0;
  return Array.from({ length: count }, (_, id) => {
    atMs += (-Math.log(1 - random.next()) * 1_000) / requestsPerSecond;
    const blocks = [...shared, 1e6 + 3 * id, 1e6 + 3 * id + 1, 1e6 + 3 * id + 2];
    return {
      id,
      atMs,
      promptTokens: prefixTokens + questionTokens,
      outputTokens,
      blocks,
      replica: 0,
      engineBlocks: blocks,
      session: -1,
      isLong: false,
    };
  });
}

function run(name: PolicyName) {
  const options = { pods, replicas: 1, kvCapacityTokens: 400_000, blockTokens, seed: 1 };
  const policy = createPolicy(name, options, config);
  const running = new Array<number>(pods).fill(0);
  const sums = new Array<number>(pods).fill(0);
  const at = new Map<number, number>();
  const counted = {
    tick: policy.tick.bind(policy),
    gauges: policy.gauges.bind(policy),
    firstToken: policy.firstToken.bind(policy),
    pick(request: RoutingRequest, nowMs: number): number {
      const pod = policy.pick(request, nowMs);
      at.set(request.id, pod);
      running[pod]!++;
      if (request.id >= measuredFrom) for (let i = 0; i < pods; i++) sums[i]! += running[i]!;
      return pod;
    },
    finished(request: RoutingRequest, pod: number, nowMs: number): void {
      running[at.get(request.id)!]!--;
      policy.finished(request, pod, nowMs);
    },
  };
  const sent = requests();
  const result = simulate({ pods }, sent, counted, sent[measuredFrom]!.atMs, 1);
  let between = 0;
  for (let id = measuredFrom; id < count; id++) {
    between += (result.endToEndMs[id]! - result.ttftMs[id]!) / (outputTokens - 1);
  }
  return { result, spread: Math.max(...sums) / Math.min(...sums), between };
}

it('spreads over the pods once each has it, and is found again', () => {
  const ours = run('expected-work');
  const peer = run('least-request');
  expect(ours.spread).toBeLessThanOrEqual(1.5);
  expect(ours.between / peer.between).toBeLessThanOrEqual(1.1);
  // All of the shared text, in every prompt; what is asked anew is found nowhere.
  const share = prefixTokens / (prefixTokens + questionTokens);
  expect(ours.result.prefixHitRatio).toBeGreaterThanOrEqual(0.95 * share);
});
