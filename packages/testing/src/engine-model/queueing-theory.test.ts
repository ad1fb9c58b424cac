/**
 * The model against closed results. With free prefill, steps of a fixed length and c places in
 * the batch, an engine is an M/M/c queue: Poisson arrivals, (nearly) exponential service as a
 * geometric number of steps, first come first served. Erlang's C gives the mean wait.
 */
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../random.ts';
import { EngineModel } from './engine-model.ts';

const stepMs = 1;
/** Services are 1 + ⌊exponential⌋ steps, half a step more on average than the exponential. */
const exponentialSteps = 100;
const meanSteps = exponentialSteps + 0.5;

/** Mean wait in ms of `requests` Poisson arrivals at utilisation `rho`. */
function simulatedWaitMs(servers: number, rho: number, requests: number, seed: number): number {
  const random = new SeededRandom(seed);
  const arrivals = random.fork();
  const services = random.fork();
  let firstTokenSumMs = 0;
  const arrivedMs = new Float64Array(requests);
  const model = new EngineModel(
    {
      stepBaseMs: stepMs,
      stepPerSequenceMs: 0,
      stepPerKvKilotokenMs: 0,
      prefillTokensPerSecond: Number.POSITIVE_INFINITY,
      runningMax: servers,
    },
    {
      onFirstToken: (id, nowMs) => {
        firstTokenSumMs += nowMs - arrivedMs[id]!;
      },
    },
  );
  let nowMs = 0;
  for (let id = 0; id < requests; id++) {
    nowMs += arrivals.exponential((meanSteps * stepMs) / (servers * rho));
    arrivedMs[id] = nowMs;
    model.advance(nowMs);
    const outputTokens = 1 + Math.floor(services.exponential(exponentialSteps));
    model.submit({ id, promptTokens: 1, outputTokens, blockHashes: [] }, nowMs);
  }
  model.advance(Number.MAX_SAFE_INTEGER);
  // The first token ends the first step of service; on average half a step more goes by before
  // the next step boundary lets a request in.
  return firstTokenSumMs / requests - 1.5 * stepMs;
}

/** Probability of waiting in M/M/c, offered load `a` = c ρ. */
function erlangC(servers: number, a: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; k < servers; k++) {
    term *= a / k;
    sum += term;
  }
  const last = ((term * a) / servers) * (servers / (servers - a));
  return last / (sum + last);
}

function theoreticalWaitMs(servers: number, rho: number): number {
  const serviceMs = meanSteps * stepMs;
  return (erlangC(servers, servers * rho) * serviceMs) / (servers * (1 - rho));
}

describe('queueing theory', () => {
  it('agrees with textbook values of Erlang C', () => {
    expect(erlangC(1, 0.7)).toBeCloseTo(0.7, 6);
    expect(erlangC(2, 1)).toBeCloseTo(1 / 3, 6);
    expect(erlangC(4, 3)).toBeCloseTo(0.5094, 3);
  });

  // The means' relative standard error at these lengths is about 1.5 %, so 5 % is over three of it.
  it.each([
    { servers: 1, rho: 0.5, seed: 1 },
    { servers: 1, rho: 0.7, seed: 2 },
    { servers: 4, rho: 0.7, seed: 3 },
    { servers: 4, rho: 0.8, seed: 4 },
    { servers: 16, rho: 0.8, seed: 5 },
  ])('waits as M/M/$servers does at ρ = $rho', ({ servers, rho, seed }) => {
    const wait = simulatedWaitMs(servers, rho, 120_000, seed);
    const expected = theoreticalWaitMs(servers, rho);
    expect(wait / expected).toBeGreaterThan(0.95);
    expect(wait / expected).toBeLessThan(1.05);
  });

  it('waits as M/M/1 does when service is prefill', () => {
    const random = new SeededRandom(6);
    let waitMs = 0;
    const requests = 120_000;
    const arrivedMs = new Float64Array(requests);
    const prompts = new Float64Array(requests);
    const model = new EngineModel(
      {
        stepBaseMs: 0,
        stepPerSequenceMs: 0,
        stepPerKvKilotokenMs: 0,
        prefillTokensPerSecond: 20_000,
        stepTokensMax: Number.MAX_SAFE_INTEGER,
        runningMax: 1,
        kvCapacityTokens: 4_000_000,
      },
      {
        onFirstToken: (id, nowMs) => {
          waitMs += nowMs - arrivedMs[id]! - prompts[id]! / 20;
        },
      },
    );
    let nowMs = 0;
    for (let id = 0; id < requests; id++) {
      nowMs += random.exponential(500 / 0.7);
      arrivedMs[id] = nowMs;
      prompts[id] = 1 + Math.floor(random.exponential(10_000));
      model.advance(nowMs);
      model.submit({ id, promptTokens: prompts[id]!, outputTokens: 1, blockHashes: [] }, nowMs);
    }
    model.advance(Number.MAX_SAFE_INTEGER);
    const expected = (0.7 * 500) / 0.3;
    expect(waitMs / requests / expected).toBeGreaterThan(0.95);
    expect(waitMs / requests / expected).toBeLessThan(1.05);
  });
});
