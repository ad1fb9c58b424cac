/** Requests that wait for their turn, through real Envoy: nobody is left without an answer. */
import type { ServerResponse } from 'node:http';
import { requireEnvoy, waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FlowControlledPicker, startFlowControlledPicker } from './flow-controlled-picker.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { completionJson, startUpstream, type Upstream } from './upstream.ts';

/** An engine that runs two takes four: two more are its queue of about one step. */
const gate = { batchRequests: 2 };
const room = 4;

describe.skipIf(!requireEnvoy())('flow control through Envoy', () => {
  let upstream: Upstream;
  /** Requests that the engine has and has not answered, oldest first. */
  let held: ServerResponse[];
  let picker: FlowControlledPicker | undefined;
  let gateway: Gateway | undefined;
  const answers = new Set<Promise<unknown>>();

  beforeEach(async () => {
    held = [];
    upstream = await startUpstream();
    upstream.respond = (_, response) => held.push(response);
  });
  afterEach(async () => {
    await gateway?.stop();
    await picker?.stop();
    await upstream.stop();
    await Promise.allSettled(answers);
    answers.clear();
  });

  async function start(
    flowControl: object,
    engines = [upstream.port],
    priorities: Record<string, number> = {},
    edit: (bootstrap: string) => string = (text) => text,
  ): Promise<FlowControlledPicker> {
    picker = await startFlowControlledPicker({ gate, ...flowControl }, engines, priorities);
    gateway = await startGateway({
      bootstrap: 'original-dst',
      pickers: [picker.port],
      plaintext: true,
      edit,
    });
    return picker;
  }

  function post(headers: Record<string, string> = {}, signal?: AbortSignal) {
    const answer = fetch(`${gateway!.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'm', prompt: 'a prompt of some words', max_tokens: 7 }),
      ...(signal && { signal }),
    }).then(async (response) => ({
      status: response.status,
      reason: response.headers.get('x-leadsman-reason'),
      dropped: response.headers.get('x-llm-d-request-dropped-reason'),
      retryAfter: response.headers.get('retry-after'),
      body: await response.text(),
    }));
    answers.add(answer.catch(() => undefined));
    return answer;
  }

  const tenant = (id: string, extra: Record<string, string> = {}) => ({
    'x-llm-d-inference-fairness-id': id,
    ...extra,
  });

  /** Fills the engine; then `waiting` requests wait. */
  async function fill(waiting: number, headers: Record<string, string> = {}) {
    const all = Array.from({ length: room + waiting }, () => post(headers));
    await waitUntil(() => held.length === room && picker!.waiting() === waiting, {
      what: 'a full engine',
      describe: () => `${held.length} in the engine, ${picker!.waiting()} wait`,
    });
    return all;
  }

  function answerOldest(): void {
    const response = held.shift()!;
    response.setHeader('content-type', 'application/json');
    response.end(completionJson);
  }

  test('two tenants, one of which floods: the other is served as if it were alone', async () => {
    await start({});
    const flood = await fill(20, tenant('flood'));
    const modest = Array.from({ length: 3 }, () => post(tenant('modest')));
    await waitUntil(() => picker!.waiting() === 23, { what: 'all to wait' });
    for (let answered = 0; answered < 27; answered++) {
      await waitUntil(() => held.length > 0, { what: 'the next request' });
      answerOldest();
      const rest = 27 - answered - 1;
      await waitUntil(() => held.length === Math.min(room, rest), { what: 'who follows' });
    }
    const order = upstream.requests.map(
      ({ headers }) => headers['x-llm-d-inference-fairness-id'] as string,
    );
    expect(order.length).toBe(27);
    // The flood had the engine to itself, and owes for that; then both take turns at most.
    expect(order.lastIndexOf('modest')).toBeLessThan(room + 2 * 3 + 1);
    for (const answer of [...flood, ...modest]) expect((await answer).status).toBe(200);
    expect(picker!.waiting()).toBe(0);
    // A call is charged until it has closed.
    await waitUntil(() => picker!.server.heldBytes === 0, { what: 'all bytes to be given back' });
    await waitUntil(() => picker!.open() === 0, { what: 'nothing in flight' });
  }, 60_000);

  test('a higher priority overtakes whoever waits', async () => {
    await start({}, [upstream.port], { urgent: 10 });
    await fill(3);
    const urgent = post({ 'x-llm-d-inference-objective': 'urgent' });
    await waitUntil(() => picker!.waiting() === 4, { what: 'it to wait' });
    answerOldest();
    await waitUntil(() => upstream.requests.length === room + 1, { what: 'the next request' });
    expect(upstream.requests.at(-1)!.headers['x-llm-d-inference-objective']).toBe('urgent');
    while (held.length > 0) {
      answerOldest();
      await waitUntil(() => held.length > 0 || picker!.waiting() === 0, { what: 'the rest' });
    }
    expect((await urgent).status).toBe(200);
  }, 60_000);

  test('Envoy waits for longer than its time limit for messages', async () => {
    const messageTimeout = /message_timeout: 10s/;
    await start({}, [upstream.port], {}, (text) => {
      expect(text).toMatch(messageTimeout);
      return text.replace(messageTimeout, 'message_timeout: 0.3s');
    });
    const [patient] = (await fill(1)).reverse();
    const beganMs = performance.now();
    await waitUntil(() => performance.now() - beganMs > 1_500, { what: 'time to pass' });
    while (held.length > 0) answerOldest();
    await waitUntil(() => held.length === 1, { what: 'it to arrive' });
    answerOldest();
    expect((await patient!).status).toBe(200);
  }, 60_000);

  test('a client that is gone leaves the queue at once, and is never sent', async () => {
    await start({});
    await fill(0);
    const gone = new AbortController();
    const answer = post(tenant('gone'), gone.signal);
    const next = post(tenant('next'));
    await waitUntil(() => picker!.waiting() === 2, { what: 'both to wait' });
    gone.abort();
    await expect(answer).rejects.toThrow();
    await waitUntil(() => picker!.waiting() === 1, { what: 'it to leave' });
    answerOldest();
    await waitUntil(() => upstream.requests.length === room + 1, { what: 'the next request' });
    expect(upstream.requests.at(-1)!.headers['x-llm-d-inference-fairness-id']).toBe('next');
    while (held.length > 0) answerOldest();
    expect((await next).status).toBe(200);
  }, 60_000);

  test('a pool that is scaled from zero answers the first request', async () => {
    await start({ noEndpointTtlMs: 60_000 }, []);
    const first = post();
    await waitUntil(() => picker!.waiting() === 1, { what: 'it to wait' });
    picker!.setEngines([upstream.port]);
    await waitUntil(() => held.length === 1, { what: 'it to arrive' });
    answerOldest();
    expect((await first).status).toBe(200);
  }, 60_000);

  const refused = (status: number, reason: string, dropped: string | null = reason) => ({
    status,
    reason,
    dropped,
    retryAfter: '1',
    body: expect.stringContaining(`"code":"${reason}"`),
  });

  test('no room to wait: 429', async () => {
    await start({ requestsMax: 1 });
    await fill(1);
    expect(await post()).toEqual(refused(429, 'rejected-saturated'));
  }, 60_000);

  test('waited for too long: 429', async () => {
    await start({ band: { ttlMs: 300 } });
    await Promise.all(Array.from({ length: room }, () => post()).map(() => undefined));
    await waitUntil(() => held.length === room, { what: 'a full engine' });
    expect(await post()).toEqual(refused(429, 'rejected-ttl-expired'));
  }, 60_000);

  test('no endpoint, at once or after the time that is allowed: 503', async () => {
    await start({ noEndpointTtlMs: 0 }, []);
    expect(await post()).toEqual(refused(503, 'rejected-no-endpoints'));
  }, 60_000);

  test('no endpoint came in time: 503', async () => {
    await start({ noEndpointTtlMs: 300 }, []);
    expect(await post()).toEqual(refused(503, 'rejected-no-endpoints'));
  }, 60_000);

  test('a picker that drains refuses who waits, and finishes what runs', async () => {
    await start({});
    const [waiting, ...running] = (await fill(1)).reverse();
    const drained = picker!.server.drain(0, 20_000);
    const all = [waiting!, ...running];
    const first = await Promise.race(all);
    expect(first).toEqual(refused(503, 'draining', null));
    while (held.length > 0) answerOldest();
    const statuses = (await Promise.all(all)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 200, 200, 503]);
    await drained;
  }, 60_000);
});
