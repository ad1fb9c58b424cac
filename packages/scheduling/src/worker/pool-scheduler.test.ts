/** Subset, priority, saturation, header, fallbacks: what surrounds a strategy. */
import { describe, expect, it } from 'vitest';
import {
  createRig,
  endpointsOf,
  poolName,
  poolUpdate,
  type Rig,
  tally,
} from '../fixture/scheduler-rig.ts';
import { InFlightField } from '../shared/in-flight-table.ts';

const nowMs = 5_000;

function headers(values: Record<string, string>): { header(name: string): string | undefined } {
  return { header: (name) => values[name] };
}

function reportAll(rig: Rig, waiting: (at: number) => number, kv = 0.1): void {
  const [pool] = rig.scheduler.pools.values();
  for (const [at, endpoint] of pool!.table.endpoints.entries()) {
    rig.gauges.report(endpoint, {
      measuredAtMs: nowMs - 10,
      runningRequests: 1,
      waitingRequests: waiting(at),
      kvCacheUsageRatio: kv,
    });
  }
}

describe('a subset', () => {
  const endpoints = endpointsOf(4, (i) =>
    i === 3 ? { address: 'fd00::3', destination: '[fd00::3]:8000' } : {},
  );
  const config = 'default: { strategy: random }';

  it.each([
    ['ip:port', ['10.0.0.1:8000'], ['10.0.0.1:8000']],
    ['a bare ip, as any of its ports', ['10.0.0.2'], ['10.0.0.2:8000']],
    ['IPv6 in brackets', ['[fd00::3]:8000'], ['[fd00::3]:8000']],
    ['bare IPv6', ['fd00::3'], ['[fd00::3]:8000']],
    ['bare IPv6 in brackets', ['[fd00::3]'], ['[fd00::3]:8000']],
    ['IPv6 in another spelling', ['[FD00:0:0:0:0:0:0:3]:8000'], ['[fd00::3]:8000']],
    ['a mapped IPv4 address', ['[::ffff:10.0.0.1]:8000'], ['10.0.0.1:8000']],
    ['a bare mapped IPv4 address', ['::ffff:10.0.0.2'], ['10.0.0.2:8000']],
    ['another port', ['10.0.0.1:8001', '10.0.0.2'], ['10.0.0.2:8000']],
    ['members and strangers', ['1.2.3.4:80', ' 10.0.0.0:8000 '], ['10.0.0.0:8000']],
  ])('limits the pick: %s', async (_name, subset, expected) => {
    const rig = await createRig({ config, endpoints, nowMs });
    const picks = tally(Array.from({ length: 20 }, () => rig.pick({ nowMs, subset })));
    expect([...picks.keys()]).toEqual(expected);
  });

  it.each([
    ['empty', []],
    ['of strangers only', ['9.9.9.9:8000']],
  ])('that is %s allows nobody, and says so at once with a retry time', async (_name, subset) => {
    const rig = await createRig({ config, endpoints, nowMs });
    const pick = rig.pick({ nowMs, subset });
    expect([pick.status, pick.reason, pick.ticket]).toEqual(['no_endpoint', 'subset', -1]);
    expect(pick.retryAfterS).toBeGreaterThan(0);
  });

  it('that is empty at an empty pool does not outlive it', async () => {
    const rig = await createRig({ config, endpoints: [], nowMs });
    const empty = rig.pick({ nowMs, subset: [] });
    expect([empty.status, empty.reason, empty.retryAfterS]).toEqual([
      'no_endpoint',
      'pool_empty',
      1,
    ]);
    rig.scheduler.updatePool(poolUpdate(endpoints, 2), nowMs);
    expect(rig.pick({ nowMs }).status).toBe('picked');
  });
});

describe('a report from another address than its member has', () => {
  const endpoints = endpointsOf(2);
  const config = 'default: { strategy: least-load }';

  it('is none of that member, and is counted', async () => {
    const rig = await createRig({ config, endpoints, nowMs });
    rig.gauges.report(endpoints[0]!, {
      measuredAtMs: nowMs,
      runningRequests: 9,
      waitingRequests: 9,
    });
    rig.gauges.report(endpoints[1]!, {
      measuredAtMs: nowMs,
      runningRequests: 0,
      waitingRequests: 0,
      address: '10.6.6.6',
    });
    expect(rig.pick({ nowMs: nowMs + 50 }).destination).toBe('10.0.0.0:8000');
    const { table } = rig.scheduler.pools.get(poolName)!;
    expect(table.foreignReports).toBeGreaterThan(0);
    rig.gauges.report(endpoints[1]!, {
      measuredAtMs: nowMs + 60,
      runningRequests: 0,
      waitingRequests: 0,
    });
    expect(rig.pick({ nowMs: nowMs + 100 }).destination).toBe('10.0.0.1:8000');
  });

  it("is the member's own in any spelling of its address", async () => {
    const written = endpointsOf(1, () => ({ address: '::ffff:10.0.0.0' }));
    const rig = await createRig({ config, endpoints: written, nowMs });
    const numbers = { measuredAtMs: nowMs, runningRequests: 1, waitingRequests: 1 };
    rig.gauges.report(written[0]!, { ...numbers, address: '10.0.0.0' });
    rig.pick({ nowMs: nowMs + 50 });
    expect(rig.scheduler.pools.get(poolName)!.table.foreignReports).toBe(0);
  });
});

describe('a sheddable request', () => {
  const config = `
default: { strategy: least-load, retryAfterS: 7 }
priority: { values: { batch: -1, chat: 5 } }
`;
  const batch = headers({ 'x-gateway-inference-objective': 'batch' });

  it('is refused only while every fresh endpoint is saturated', async () => {
    const rig = await createRig({ config, endpoints: endpointsOf(3), nowMs });
    reportAll(rig, () => 9);
    const shed = rig.pick({ nowMs, ...batch });
    expect([shed.status, shed.reason, shed.retryAfterS]).toEqual(['shed', 'saturated', 7]);
    expect(rig.pick({ nowMs }).status).toBe('picked');
    const chat = headers({ 'x-gateway-inference-objective': 'chat' });
    expect(rig.pick({ nowMs, ...chat }).status).toBe('picked');
    reportAll(rig, (at) => (at === 2 ? 4 : 9));
    expect(rig.pick({ nowMs, ...batch }).status).toBe('picked');
    reportAll(rig, () => 0, 0.95);
    expect(rig.pick({ nowMs, ...batch }).status).toBe('shed');
  });

  it('is refused once what was sent since the reports fills the queues', async () => {
    const rig = await createRig({ config, endpoints: endpointsOf(2), nowMs });
    for (const endpoint of endpointsOf(2)) {
      const numbers = { runningRequests: 20, waitingRequests: 4, kvCacheUsageRatio: 0.5 };
      rig.gauges.report(endpoint, { measuredAtMs: nowMs - 5, ...numbers });
    }
    const statuses = Array.from({ length: 500 }, () => rig.pick({ nowMs, ...batch }).status);
    const passed = statuses.filter((status) => status === 'picked').length;
    expect(passed).toBe(2);
    expect(rig.pick({ nowMs }).status).toBe('picked');
  });

  it('passes as many again as engines run while nothing waits, and 32 at least', async () => {
    const rig = await createRig({ config, endpoints: endpointsOf(2), nowMs });
    for (const endpoint of endpointsOf(2)) {
      const numbers = { runningRequests: 0, waitingRequests: 0, kvCacheUsageRatio: 0 };
      rig.gauges.report(endpoint, { measuredAtMs: nowMs - 5, ...numbers });
    }
    const statuses = Array.from({ length: 500 }, () => rig.pick({ nowMs, ...batch }).status);
    expect(statuses.filter((status) => status === 'picked')).toHaveLength(2 * (32 + 5));
  });

  it('goes through when nothing is known: a blind pool is not saturated', async () => {
    const rig = await createRig({ config, endpoints: endpointsOf(3), nowMs });
    expect(rig.pick({ nowMs, ...batch }).status).toBe('picked');
  });

  it('has the priority that Kubernetes gives its objective before that of the file', async () => {
    const endpoints = endpointsOf(2);
    const rig = await createRig({ config, endpoints, nowMs });
    reportAll(rig, () => 9);
    rig.scheduler.updatePool({ ...poolUpdate(endpoints, 2), objectives: { batch: 3 } }, nowMs);
    expect(rig.pick({ nowMs, ...batch }).status).toBe('picked');
  });
});

describe('the routing header', () => {
  const endpoints = endpointsOf(2);
  const random = headers({ 'routing-strategy': 'random' });

  it('means nothing unless the admin allows it', async () => {
    const rig = await createRig({ config: 'default: { strategy: random }', endpoints, nowMs });
    const nonsense = headers({ 'routing-strategy': 'nonsense' });
    expect(rig.pick({ nowMs, ...nonsense }).status).toBe('picked');
  });

  it('chooses among the allowed strategies; others are refused', async () => {
    const config = 'routingHeader: { allow: [random] }';
    const rig = await createRig({ config, endpoints, nowMs });
    expect(rig.pick({ nowMs, ...random }).status).toBe('picked');
    expect(rig.pick({ nowMs }).status).toBe('picked');
    const refused = rig.pick({ nowMs, ...headers({ 'routing-strategy': 'least-load' }) });
    expect([refused.status, refused.reason]).toEqual(['bad_request', 'routing_strategy']);
  });
});

describe('filters', () => {
  const endpoints = endpointsOf(4, (i) => ({ labels: i < 2 ? { zone: 'a' } : { zone: 'b' } }));

  it('keep to a label, also when its endpoints are the only stale ones', async () => {
    const config = `
default:
  strategy: least-load
  filters: [{ type: label, parameters: { label: zone, values: [a] } }]
`;
    const rig = await createRig({ config, endpoints, nowMs });
    for (const endpoint of endpoints.slice(2)) {
      rig.gauges.report(endpoint, { measuredAtMs: nowMs, runningRequests: 0, waitingRequests: 0 });
    }
    const picks = tally(Array.from({ length: 20 }, () => rig.pick({ nowMs })));
    expect([...picks.keys()].sort()).toEqual(['10.0.0.0:8000', '10.0.0.1:8000']);
  });

  it('that state a preference are undone when nothing passes', async () => {
    const config = 'default: { strategy: random, filters: [{ type: not-saturated }] }';
    const rig = await createRig({ config, endpoints, nowMs });
    reportAll(rig, () => 50);
    expect(rig.pick({ nowMs }).status).toBe('picked');
    reportAll(rig, (at) => (at === 1 ? 0 : 50));
    const picks = tally(Array.from({ length: 20 }, () => rig.pick({ nowMs })));
    expect([...picks.keys()]).toEqual(['10.0.0.1:8000']);
  });

  it('that refuse leave nobody', async () => {
    const config = `
default: { filters: [{ type: label, parameters: { label: zone, values: [c] } }] }
`;
    const rig = await createRig({ config, endpoints, nowMs });
    expect(rig.pick({ nowMs })).toMatchObject({ status: 'no_endpoint', reason: 'filtered' });
  });
});

describe('fallbacks', () => {
  it('name further endpoints, best first and each once', async () => {
    const config = 'default: { strategy: least-load, fallbacks: 2 }';
    const rig = await createRig({ config, endpoints: endpointsOf(4), nowMs });
    reportAll(rig, (at) => 3 - at);
    const pick = rig.pick({ nowMs });
    expect(pick.destination).toBe('10.0.0.3:8000,10.0.0.2:8000,10.0.0.1:8000');
    expect(pick.endpoint?.destination).toBe('10.0.0.3:8000');
  });
});

describe('an unknown pool', () => {
  it('is told apart from an empty one', async () => {
    const rig = await createRig({ config: '{}', endpoints: endpointsOf(1), nowMs });
    expect(rig.pick({ poolName: 'other/pool', nowMs }).status).toBe('unknown_pool');
  });
});

describe('a request that the gateway sent elsewhere', () => {
  it('is in flight where it is, until it ends', async () => {
    const endpoints = endpointsOf(3);
    const rig = await createRig({ config: 'default: { strategy: random }', endpoints, nowMs });
    const pick = rig.pick({ nowMs, promptTokens: 100 });
    const picked = pick.endpoint!.index;
    const elsewhere = endpoints.find(({ index }) => index !== picked)!;
    const counts = () => endpoints.map(({ index }) => rig.inFlight.total(index, 0));
    rig.scheduler.servedBy(pick.ticket, elsewhere.destination);
    expect(rig.inFlight.total(picked, 0)).toBe(0);
    expect(rig.inFlight.total(elsewhere.index, 0)).toBe(1);
    // A member that has left, or a proxy in between: the count stays where it is.
    rig.scheduler.servedBy(pick.ticket, '192.0.2.1:80');
    expect(rig.inFlight.total(elsewhere.index, 0)).toBe(1);
    rig.scheduler.release(pick.ticket, { outputTokens: 1, aborted: false });
    expect(counts()).toEqual([0, 0, 0]);
  });

  it('moves to a member of another pool, which is named', async () => {
    const endpoints = endpointsOf(4);
    const own = endpoints.slice(0, 2);
    const rig = await createRig({ config: 'default: { strategy: random }', endpoints: own, nowMs });
    const other = { ...poolUpdate(endpoints.slice(2)), pool: 'test/other' };
    rig.scheduler.updatePool(other, nowMs);
    const { ticket } = rig.pick({ nowMs, promptTokens: 100 });
    expect(rig.scheduler.servedBy(ticket, endpoints[3]!.destination)).toBe('test/other');
    expect(own.map(({ index }) => rig.inFlight.total(index, 0))).toEqual([0, 0]);
    expect(rig.inFlight.total(endpoints[3]!.index, 0)).toBe(1);
    expect(rig.scheduler.servedBy(ticket, '192.0.2.1:80')).toBeUndefined();
    rig.scheduler.release(ticket, { outputTokens: 1, aborted: false });
    expect(rig.inFlight.total(endpoints[3]!.index, 0)).toBe(0);
  });

  it('leaves no prompt in the history of an endpoint that never saw it', async () => {
    const endpoints = endpointsOf(2);
    const config = 'default: { strategy: expected-work }';
    const rig = await createRig({ config, endpoints, nowMs });
    const prompt = new TextEncoder().encode('Sent there, served here. '.repeat(300));
    const facts = { nowMs, prompt, promptTokens: 1_875 };
    const { ticket, endpoint } = rig.pick(facts);
    const elsewhere = endpoints[1 - endpoint!.index]!;
    rig.scheduler.servedBy(ticket, elsewhere.destination);
    const again = rig.pick(facts);
    expect(rig.inFlight.total(again.endpoint!.index, InFlightField.pendingTokens) % 1_875).toBe(0);
  });
});
