import { describe, expect, it } from 'vitest';
import type { WaitOutcome } from '../../scheduler.ts';
import type { BandOptions } from './band.ts';
import type { Waiting } from './flow.ts';
import { flowsByNameMax, sharedFlows } from './flow-names.ts';
import { FlowQueue, type FlowQueueOptions } from './flow-queue.ts';
import type { HeldRequest } from './held-request.ts';
import { ageingTokensPerMsDefault } from './ordering.ts';

const bandOptions: BandOptions = {
  ordering: 'fcfs',
  ageingTokensPerMs: ageingTokensPerMsDefault,
  ttlMs: 60_000,
  requestsMax: 5_000,
  bytesMax: 1e9,
  floorShare: 0,
  weights: new Map(),
};

function queueOf(band: Partial<BandOptions> = {}, pool: Partial<FlowQueueOptions> = {}): FlowQueue {
  return new FlowQueue({
    requestsMax: 10_000,
    bytesMax: 1e9,
    noEndpointTtlMs: 5_000,
    bandOptions: () => ({ ...bandOptions, ...band }),
    ...pool,
  });
}

function request(of: Partial<HeldRequest> = {}, ends: WaitOutcome[] = []): HeldRequest {
  return {
    priority: 0,
    flowId: '',
    bytes: 1_000,
    promptTokens: 100,
    arrivedAtMs: 0,
    deadlineMs: Number.POSITIVE_INFINITY,
    ended: (outcome) => void ends.push(outcome),
    ...of,
  };
}

/** Dispatches the next `count` requests; gives their places in order. */
function dispatch(queue: FlowQueue, count = Number.POSITIVE_INFINITY): Waiting[] {
  const order: Waiting[] = [];
  for (let next = queue.peek(); next !== undefined && order.length < count; next = queue.peek()) {
    order.push(next);
    queue.dispatch(next);
  }
  return order;
}

function drain(queue: FlowQueue, count = Number.POSITIVE_INFINITY): HeldRequest[] {
  return dispatch(queue, count).map(({ request }) => request);
}

const flowsOf = (requests: readonly HeldRequest[]) => requests.map(({ flowId }) => flowId).join('');

describe('between flows', () => {
  it('a flow that floods does not delay another', () => {
    const queue = queueOf();
    for (let i = 0; i < 90; i++) queue.add(request({ flowId: 'a' }));
    for (let i = 0; i < 3; i++) queue.add(request({ flowId: 'b' }));
    expect(flowsOf(drain(queue, 8))).toBe('abababaa');
  });

  it('counts tokens, not requests', () => {
    const queue = queueOf();
    for (let i = 0; i < 3; i++) queue.add(request({ flowId: 'a', promptTokens: 1_000 }));
    for (let i = 0; i < 20; i++) queue.add(request({ flowId: 'b' }));
    expect(flowsOf(drain(queue, 12))).toBe(`a${'b'.repeat(10)}a`);
  });

  it('charges what an answer used to its flow', () => {
    const queue = queueOf();
    for (let i = 0; i < 4; i++) {
      queue.add(request({ flowId: 'a' }));
      queue.add(request({ flowId: 'b' }));
    }
    const [a] = dispatch(queue, 2);
    queue.ended(a!, 250);
    expect(flowsOf(drain(queue))).toBe('bbbaaa');
  });

  it('serves flows by weight', () => {
    const queue = queueOf({ weights: new Map([['a', 3]]) });
    for (let i = 0; i < 40; i++) {
      queue.add(request({ flowId: 'a' }));
      queue.add(request({ flowId: 'b' }));
    }
    const first = flowsOf(drain(queue, 20));
    expect(first.split('a').length - 1).toBe(15);
  });

  it('an idle flow saves nothing up', () => {
    const queue = queueOf();
    queue.add(request({ flowId: 'b' }));
    for (let i = 0; i < 50; i++) queue.add(request({ flowId: 'a' }));
    drain(queue, 41);
    for (let i = 0; i < 10; i++) queue.add(request({ flowId: 'b' }));
    expect(flowsOf(drain(queue, 6))).toMatch(/^(ab|ba){3}$/);
  });

  it('names a bounded number of flows and hashes the rest together', () => {
    const queue = queueOf();
    for (let i = 0; i < 3 * flowsByNameMax; i++) queue.add(request({ flowId: `tenant-${i}` }));
    expect(queue.bands[0]!.waitingByFlow().length).toBe(flowsByNameMax + sharedFlows);
    for (const dispatched of dispatch(queue)) queue.ended(dispatched, 0);
    queue.sweep();
    queue.add(request({ flowId: 'late' }));
    expect(queue.bands[0]!.waitingByFlow()).toEqual([{ flow: 'late', requests: 1 }]);
  });
});

describe('between bands', () => {
  it('the higher one goes first', () => {
    const queue = queueOf();
    queue.add(request({ priority: -1 }));
    queue.add(request({ priority: 0 }));
    queue.add(request({ priority: 10 }));
    expect(drain(queue).map(({ priority }) => priority)).toEqual([10, 0, -1]);
  });

  it('a floor keeps the lower one from starving', () => {
    const queue = queueOf({ floorShare: 0.1 });
    for (let i = 0; i < 200; i++) {
      queue.add(request({ priority: 1 }));
      queue.add(request({ priority: 0 }));
    }
    const low = drain(queue, 110).filter(({ priority }) => priority === 0).length;
    expect(low).toBeGreaterThanOrEqual(9);
    expect(low).toBeLessThanOrEqual(11);
  });

  it('at the bound of the pool the newest of the lowest band makes room', () => {
    const queue = queueOf({}, { requestsMax: 2 });
    const ends: WaitOutcome[][] = [[], [], [], []];
    queue.add(request({ priority: -1 }, ends[0]));
    queue.add(request({ priority: -1 }, ends[1]));
    queue.add(request({ priority: 0 }, ends[2]));
    queue.add(request({ priority: -1 }, ends[3]));
    expect(ends).toEqual([[], ['rejected-saturated'], [], ['rejected-saturated']]);
    expect(queue.requests).toBe(2);
  });
});

describe('within a flow', () => {
  it('earliest deadline first, those without one last', () => {
    const queue = queueOf({ ordering: 'edf' });
    queue.add(request({ promptTokens: 1 }));
    queue.add(request({ promptTokens: 2, deadlineMs: 900 }));
    queue.add(request({ promptTokens: 3, deadlineMs: 300 }));
    expect(drain(queue).map(({ promptTokens }) => promptTokens)).toEqual([3, 2, 1]);
  });

  it('shortest first, but waiting makes a request shorter', () => {
    const queue = queueOf({ ordering: 'shortest', ageingTokensPerMs: 10 });
    queue.add(request({ promptTokens: 1_000, arrivedAtMs: 0 }));
    queue.add(request({ promptTokens: 10, arrivedAtMs: 50 }));
    queue.add(request({ promptTokens: 10, arrivedAtMs: 150 }));
    expect(drain(queue).map(({ arrivedAtMs }) => arrivedAtMs)).toEqual([50, 0, 150]);
  });
});

describe('waiting ends', () => {
  it('by the time limit of the band', () => {
    const queue = queueOf({ ttlMs: 100 });
    const ends: WaitOutcome[] = [];
    queue.add(request({ arrivedAtMs: 0 }, ends));
    queue.add(request({ arrivedAtMs: 60 }, ends));
    queue.expire(99, true);
    expect(ends).toEqual([]);
    queue.expire(100, true);
    expect(ends).toEqual(['rejected-ttl-expired']);
    expect(queue.requests).toBe(1);
  });

  it('sooner when the pool has no endpoint', () => {
    const queue = queueOf({}, { noEndpointTtlMs: 10 });
    const ends: WaitOutcome[] = [];
    queue.add(request({}, ends));
    queue.expire(10, false);
    expect(ends).toEqual(['rejected-no-endpoints']);
  });

  it('for a client that left, once and without a charge', () => {
    const queue = queueOf();
    const ends: WaitOutcome[] = [];
    const waiting = queue.add(request({ flowId: 'a' }, ends))!;
    queue.add(request({ flowId: 'b' }));
    queue.end(waiting, 'cancelled');
    queue.end(waiting, 'rejected-ttl-expired');
    queue.dispatch(waiting);
    expect(ends).toEqual(['cancelled']);
    queue.add(request({ flowId: 'a' }));
    expect(flowsOf(drain(queue))).toBe('ba');
    expect([queue.requests, queue.bytes]).toEqual([0, 0]);
  });
});
