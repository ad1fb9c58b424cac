import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { describe, expect, it } from 'vitest';
import {
  configOf,
  createRig,
  createRigMemory,
  endpointsOf,
  poolName,
  poolUpdate,
  type Rig,
  requestFacts,
} from '../../fixture/scheduler-rig.ts';
import { emptyPick, type RequestFacts, type WaitOutcome } from '../../scheduler.ts';
import { policiesOf } from '../build-policy.ts';

const on = (fields = '') => `default: {flowControl: {enabled: true${fields}}}`;

/** A request that picks when its turn has come, as the exchange does. */
class Client {
  outcome: WaitOutcome | undefined;
  ended = 0;
  ticket = -1;
  retryAfterS = 0;
  readonly leave: () => void;
  readonly waits: boolean;

  constructor(rig: Rig, facts: Partial<RequestFacts> = {}, bytes = 1_000) {
    const request = requestFacts({ promptTokens: 100, ...facts });
    const pick = () => {
      const into = emptyPick();
      rig.scheduler.pick(request, into);
      this.ticket = into.ticket;
    };
    const wait = rig.scheduler.admit(request, bytes, {
      waitEnded: (outcome, retryAfterS) => {
        this.ended++;
        this.outcome = outcome;
        this.retryAfterS = retryAfterS;
        if (outcome === 'dispatched') pick();
      },
    });
    if (wait === undefined) pick();
    this.waits = this.outcome === undefined && wait !== undefined;
    this.leave = () => wait?.leave();
  }
}

const headers = (values: Record<string, string>) => ({
  header: (name: string) => values[name],
});
const flow = (id: string) => headers({ 'x-llm-d-inference-fairness-id': id });
const release = (rig: Rig, client: Client, outputTokens = 10) =>
  rig.scheduler.release(client.ticket, { outputTokens, aborted: false });

/** One endpoint that was seen full with so many requests, and holds as many of ours. */
async function fullRig(config = on(), batch = 4): Promise<{ rig: Rig; running: Client[] }> {
  const endpoints = endpointsOf(1);
  const rig = await createRig({ config, endpoints });
  const state = { measuredAtMs: 0, runningRequests: batch, waitingRequests: 9 };
  rig.gauges.report(endpoints[0]!, state);
  rig.scheduler.tick(0);
  rig.gauges.report(endpoints[0]!, { measuredAtMs: 0, runningRequests: 0, waitingRequests: 0 });
  rig.scheduler.tick(0);
  const running: Client[] = [];
  for (let client = new Client(rig); !client.waits; client = new Client(rig)) running.push(client);
  // The one that has to wait goes again.
  for (const { flowControl } of rig.scheduler.pools.values())
    flowControl!.queue.endAll('cancelled');
  return { rig, running };
}

describe('without flow control', () => {
  it('nobody waits', async () => {
    const rig = await createRig({ config: '', endpoints: endpointsOf(1) });
    const clients = Array.from({ length: 1_000 }, () => new Client(rig));
    expect(clients.every(({ waits, ticket }) => !waits && ticket >= 0)).toBe(true);
  });
});

describe('the gate', () => {
  it('lets an engine have its batch and about one step of requests', async () => {
    const { running } = await fullRig(on(), 16);
    expect(running.length).toBe(18);
  });

  it('does not halt a pool without numbers, and bounds it by the ledger', async () => {
    const rig = await createRig({ config: on(), endpoints: endpointsOf(2) });
    const clients = Array.from({ length: 1_000 }, () => new Client(rig));
    const going = clients.filter(({ waits }) => !waits).length;
    expect(going).toBeGreaterThanOrEqual(2 * 64);
    expect(going).toBeLessThan(1_000);
    expect(rig.scheduler.pools.get(poolName)!.flowControl!.gate.isBlind).toBe(true);
  });

  it('goes by the batch that is stated', async () => {
    const rig = await createRig({
      config: on(', gate: {batchRequests: 8}'),
      endpoints: endpointsOf(1),
    });
    const clients = Array.from({ length: 50 }, () => new Client(rig));
    expect(clients.filter(({ waits }) => !waits).length).toBe(10);
  });

  it('goes by the batch that the engine states before that of the file', async () => {
    const endpoints = endpointsOf(1);
    const rig = await createRig({ config: on(', gate: {batchRequests: 8}'), endpoints });
    rig.gauges.report(endpoints[0]!, {
      measuredAtMs: 0,
      runningRequests: 0,
      waitingRequests: 0,
      runningMax: 24,
    });
    rig.scheduler.tick(0);
    const clients = Array.from({ length: 50 }, () => new Client(rig));
    expect(clients.filter(({ waits }) => !waits).length).toBe(27);
  });

  it('grows with an engine that runs more than when it was seen full', async () => {
    const { rig } = await fullRig(on(), 16);
    const [endpoint] = endpointsOf(1);
    const late = new Client(rig);
    expect(late.waits).toBe(true);
    rig.scheduler.tick(20);
    rig.gauges.report(endpoint!, { measuredAtMs: 20, runningRequests: 18, waitingRequests: 0 });
    rig.scheduler.tick(30);
    expect(late.outcome).toBe('dispatched');
  });

  it('closes for a full KV cache, but never for an idle engine', async () => {
    const endpoints = endpointsOf(1);
    const rig = await createRig({ config: on(), endpoints });
    const state = { measuredAtMs: 0, runningRequests: 0, waitingRequests: 0 };
    rig.gauges.report(endpoints[0]!, { ...state, kvCacheUsageRatio: 0.97 });
    rig.scheduler.tick(0);
    expect(new Client(rig).waits).toBe(false);
    expect(new Client(rig).waits).toBe(true);
  });

  it('sees an endpoint with room behind full ones', async () => {
    const endpoints = endpointsOf(3);
    const rig = await createRig({ config: on(), endpoints });
    for (const endpoint of endpoints) {
      const waitingRequests = endpoint.index === 2 ? 0 : 50;
      const runningRequests = endpoint.index === 2 ? 1 : 10;
      rig.gauges.report(endpoint, { measuredAtMs: 0, runningRequests, waitingRequests });
    }
    rig.scheduler.tick(0);
    expect(new Client(rig).waits).toBe(false);
  });
});

describe('a request that waits', () => {
  it('goes when another ends, and only then', async () => {
    const { rig, running } = await fullRig();
    const first = new Client(rig);
    const second = new Client(rig);
    expect([first.waits, second.waits]).toEqual([true, true]);
    release(rig, running[0]!);
    expect([first.outcome, second.outcome]).toEqual(['dispatched', undefined]);
    expect(first.ticket).toBeGreaterThanOrEqual(0);
    release(rig, first);
    expect(second.outcome).toBe('dispatched');
  });

  it('leaves at once when its client is gone, and nobody is told', async () => {
    const { rig, running } = await fullRig();
    const gone = new Client(rig);
    const next = new Client(rig);
    gone.leave();
    gone.leave();
    release(rig, running[0]!);
    expect([gone.ended, next.outcome]).toEqual([0, 'dispatched']);
  });

  it('is refused after its time', async () => {
    const { rig } = await fullRig(on(', band: {ttlMs: 500}'));
    const late = new Client(rig, { nowMs: 100 });
    rig.scheduler.tick(550);
    expect(late.outcome).toBeUndefined();
    rig.scheduler.tick(700);
    expect([late.outcome, late.retryAfterS]).toEqual(['rejected-ttl-expired', 1]);
  });

  it('waits without end where the limit is 0', async () => {
    const { rig } = await fullRig(on(', band: {ttlMs: 0}'));
    const patient = new Client(rig);
    rig.scheduler.tick(1e9);
    expect(patient.outcome).toBeUndefined();
  });

  it('is refused at the door of a full queue', async () => {
    const { rig } = await fullRig(on(', requestsMax: 2'));
    const clients = Array.from({ length: 3 }, () => new Client(rig));
    expect(clients.map(({ outcome }) => outcome)).toEqual([
      undefined,
      undefined,
      'rejected-saturated',
    ]);
  });

  it('is told when the picker drains, as are those that come later', async () => {
    const { rig } = await fullRig();
    const before = new Client(rig);
    rig.scheduler.endWaits();
    const after = new Client(rig);
    expect([before.outcome, after.outcome]).toEqual(['draining', 'draining']);
  });

  it('is told when its pool is no longer served', async () => {
    const { rig } = await fullRig();
    const client = new Client(rig);
    rig.scheduler.removePool(poolName);
    expect(client.outcome).toBe('rejected-no-endpoints');
  });

  it('is picked for when flow control is switched off', async () => {
    const { rig } = await fullRig();
    const client = new Client(rig);
    rig.scheduler.use(
      policiesOf(await configOf(''), [], () => undefined),
      0,
    );
    expect(client.outcome).toBe('dispatched');
    expect(client.ticket).toBeGreaterThanOrEqual(0);
  });

  it('keeps its place when the configuration changes', async () => {
    const { rig, running } = await fullRig();
    const client = new Client(rig);
    const config = await configOf(on(', band: {ordering: shortest}'));
    rig.scheduler.use(
      policiesOf(config, [], () => undefined),
      0,
    );
    expect(client.outcome).toBeUndefined();
    release(rig, running[0]!);
    expect(client.outcome).toBe('dispatched');
  });

  it('is not one that computes nothing', async () => {
    const { rig } = await fullRig();
    expect(new Client(rig, { computes: false }).waits).toBe(false);
  });
});

describe('a pool without endpoints', () => {
  it('refuses at once unless requests may wait for one', async () => {
    const rig = await createRig({ config: on(), endpoints: [] });
    expect(new Client(rig).outcome).toBe('rejected-no-endpoints');
  });

  it('serves who waited when the first endpoint comes', async () => {
    const rig = await createRig({ config: on(', noEndpointTtlMs: 30000'), endpoints: [] });
    const client = new Client(rig);
    expect(client.waits).toBe(true);
    rig.scheduler.updatePool(poolUpdate(endpointsOf(1), 2), 5_000);
    expect(client.outcome).toBe('dispatched');
    expect(client.ticket).toBeGreaterThanOrEqual(0);
  });

  it('refuses who waited too long', async () => {
    const rig = await createRig({ config: on(', noEndpointTtlMs: 30000'), endpoints: [] });
    const client = new Client(rig);
    rig.scheduler.tick(29_000);
    expect(client.outcome).toBeUndefined();
    rig.scheduler.tick(31_000);
    expect(client.outcome).toBe('rejected-no-endpoints');
  });
});

describe('whose turn it is', () => {
  /** Who goes, one release after the other. */
  function order(rig: Rig, first: Client, waiting: readonly Client[]): number[] {
    const gone: number[] = [];
    let last = first;
    for (;;) {
      release(rig, last, 0);
      const at = waiting.findIndex((client, i) => client.ended > 0 && !gone.includes(i));
      if (at < 0) return gone;
      gone.push(at);
      last = waiting[at]!;
    }
  }

  it('alternates between flows, whichever sent more', async () => {
    const { rig, running } = await fullRig();
    const waiting = ['a', 'a', 'a', 'a', 'b', 'b'].map((id) => new Client(rig, flow(id)));
    expect(order(rig, running[0]!, waiting)).toEqual([0, 4, 1, 5, 2, 3]);
  });

  it('knows the former name of the header', async () => {
    const { rig, running } = await fullRig();
    const before = (id: string) => headers({ 'x-gateway-inference-fairness-id': id });
    const waiting = ['a', 'a', 'b'].map((id) => new Client(rig, before(id)));
    expect(order(rig, running[0]!, waiting)).toEqual([0, 2, 1]);
  });

  it('charges a flow what its requests generated', async () => {
    const { rig, running } = await fullRig();
    const greedy = [0, 1, 2].map(() => new Client(rig, flow('greedy')));
    release(rig, running[0]!);
    expect(greedy[0]!.outcome).toBe('dispatched');
    const modest = [0, 1, 2].map(() => new Client(rig, flow('modest')));
    release(rig, greedy[0]!, 5_000);
    expect(order(rig, modest[0]!, [...greedy, ...modest]).slice(0, 3)).toEqual([0, 3, 4]);
  });

  it('puts priorities first, by the new and the former name of the objective', async () => {
    const config = `priority: {values: {urgent: 5, batch: -1}}\n${on()}`;
    const { rig, running } = await fullRig(config);
    const objective = (name: string, value: string) => new Client(rig, headers({ [name]: value }));
    const waiting = [
      objective('x-llm-d-inference-objective', 'batch'),
      new Client(rig),
      objective('x-gateway-inference-objective', 'urgent'),
      objective('x-llm-d-inference-objective', 'urgent'),
    ];
    expect(order(rig, running[0]!, waiting)).toEqual([2, 3, 1, 0]);
  });

  it.each(['x-llm-d-slo-ttft-ms', 'x-slo-ttft-ms'])('goes by the deadline of %s', async (name) => {
    const { rig, running } = await fullRig(on(', band: {ordering: edf}'));
    const values = ['900', '9300000000000', 'soon', '100', '-5'];
    const waiting = values.map((value) => new Client(rig, headers({ [name]: value })));
    expect(order(rig, running[0]!, waiting)).toEqual([3, 0, 1, 2, 4]);
  });
});

describe('an endpoint that takes the place of another', () => {
  it('is not held to what that one could run', async () => {
    const { rig } = await fullRig(on(), 4);
    const [endpoint] = endpointsOf(1, () => ({ podKey: podKeyText(podKeyFromUid('new')) }));
    const client = new Client(rig);
    expect(client.waits).toBe(true);
    rig.scheduler.updatePool(poolUpdate([endpoint!], 2), 0);
    expect(client.outcome).toBe('dispatched');
  });
});

describe('workers of one picker', () => {
  const config = on(', gate: {batchRequests: 16}');

  /** Both have far more requests than the pool has room for; each release is followed by a tick. */
  async function contend(workers: number): Promise<{ gone: number[]; mostInFlight: number }> {
    const endpoints = endpointsOf(1);
    const shared = createRigMemory(workers);
    const first = await createRig({ config, endpoints, shared, worker: 0 });
    const second = await createRig({ config, endpoints, shared, worker: 1 });
    const rigs = [first, second];
    const clients = rigs.map((rig) => Array.from({ length: 400 }, () => new Client(rig)));
    const gone = [0, 0];
    let mostInFlight = 0;
    for (let nowMs = 10; nowMs <= 6_000; nowMs += 10) {
      for (const [i, rig] of rigs.entries()) {
        // A request takes about 200 ms: of those in flight one in twenty ends each 10 ms.
        const running = clients[i]!.filter(({ ticket }) => ticket >= 0);
        if (running.length > 0 && nowMs % Math.ceil(200 / running.length) < 10) {
          const ended = running[0]!;
          release(rig, ended);
          ended.ticket = -1;
          gone[i]!++;
        }
        rig.scheduler.tick(nowMs);
      }
      mostInFlight = Math.max(
        mostInFlight,
        first.scheduler.tickets.open + second.scheduler.tickets.open,
      );
    }
    return { gone, mostInFlight };
  }

  it('each get their share, also the one that came to a full pool', async () => {
    const { gone, mostInFlight } = await contend(2);
    expect(gone[1]).toBeGreaterThan(0.5 * gone[0]!);
    // 16 and an eighth more; and what moves from one share to the other.
    expect(mostInFlight).toBeLessThanOrEqual(20);
  });

  it('a worker alone never lets more go than there is room for', async () => {
    const rig = await createRig({ config, endpoints: endpointsOf(1) });
    const clients = Array.from({ length: 50 }, () => new Client(rig));
    for (let nowMs = 10; nowMs <= 2_000; nowMs += 10) rig.scheduler.tick(nowMs);
    expect(clients.filter(({ outcome }) => outcome === 'dispatched').length).toBe(18);
  });
});
