import type { WaitOutcome } from '@leadsman/scheduling/scheduler';
import { describe, expect, it } from 'vitest';
import { decodeResponse, encodeRequest } from '../protobuf/reference-codec.ts';
import { Exchange } from './exchange.ts';
import { ExchangeRig, FakeStream } from './fixture/exchange-rig.ts';

const body = Buffer.from(JSON.stringify({ model: 'm', prompt: 'p'.repeat(5_000) }));

/** A FULL_DUPLEX exchange whose scheduler lets nobody go by itself. */
class Waiting {
  readonly rig: ExchangeRig;
  readonly stream = new FakeStream();
  readonly exchange: Exchange;
  // biome-ignore lint/suspicious/noExplicitAny: decoded by the reference codec
  readonly sent: any[] = [];

  constructor(rig = new ExchangeRig(1_000_000)) {
    this.rig = rig;
    rig.scheduler.queues = true;
    this.stream.onSend = (message) => this.sent.push(decodeResponse(message));
    this.exchange = new Exchange(rig.context, this.stream);
  }

  headers(list: Record<string, string> = {}, endOfStream = false): this {
    const all = { 'content-type': 'application/json', ...list };
    const headers = Object.entries(all).map(([key, value]) => ({
      key,
      rawValue: Buffer.from(value),
    }));
    this.exchange.message(
      encodeRequest({
        requestHeaders: { headers: { headers }, endOfStream },
        protocolConfig: { requestBodyMode: 4, responseBodyMode: 4 },
      }),
    );
    return this;
  }

  body(bytes: Uint8Array = body, endOfStream = true): this {
    this.exchange.message(encodeRequest({ requestBody: { body: bytes, endOfStream } }));
    return this;
  }

  end(outcome: WaitOutcome): this {
    this.rig.scheduler.endWait(outcome);
    return this;
  }

  /** Status, our reason and the other pickers' of the refusal. */
  refusal(): unknown[] {
    const { immediateResponse } = this.sent.at(-1);
    const values = new Map<string, string>(
      immediateResponse.headers.setHeaders.map(
        // biome-ignore lint/suspicious/noExplicitAny: decoded by the reference codec
        ({ header }: any) => [header.key, Buffer.from(header.rawValue).toString()],
      ),
    );
    return [
      immediateResponse.status.code,
      values.get('x-leadsman-reason'),
      values.get('x-llm-d-request-dropped-reason'),
      JSON.parse(Buffer.from(immediateResponse.body).toString()).error.code,
      values.get('retry-after'),
    ];
  }
}

describe('a request that waits for its turn', () => {
  it('is answered by nothing until then, and keeps every byte', () => {
    const waiting = new Waiting().headers().body();
    expect(waiting.sent).toEqual([]);
    waiting.end('dispatched');
    expect(waiting.sent.length).toBe(2);
    const echoed = waiting.sent[1].requestBody.response.bodyMutation.streamedResponse;
    expect(Buffer.from(echoed.body)).toEqual(body);
    expect(echoed.endOfStream).toBe(true);
    expect(waiting.rig.budget.usedBytes).toBe(0);
    waiting.exchange.closed();
    expect(waiting.rig.scheduler.open.size).toBe(0);
  });

  it('is charged for what it keeps, the prompt included, and says so', () => {
    const waiting = new Waiting().headers().body();
    const { budget, scheduler } = waiting.rig;
    expect(budget.usedBytes).toBeGreaterThanOrEqual(body.length + 5_000);
    expect(budget.usedBytes).toBeLessThan(body.length + 5_100);
    expect(scheduler.heldBytes).toBe(budget.usedBytes);
  });

  it('is not subject to the time limit of bodies', () => {
    const waiting = new Waiting().headers().body();
    waiting.rig.passDeadline();
    expect(waiting.rig.scheduler.waiters.size).toBe(1);
    expect(waiting.sent).toEqual([]);
  });

  it.each<[WaitOutcome, unknown[]]>([
    [
      'rejected-saturated',
      [429, 'rejected-saturated', 'rejected-saturated', 'rejected-saturated', '1'],
    ],
    [
      'rejected-ttl-expired',
      [429, 'rejected-ttl-expired', 'rejected-ttl-expired', 'rejected-ttl-expired', '1'],
    ],
    [
      'rejected-no-endpoints',
      [503, 'rejected-no-endpoints', 'rejected-no-endpoints', 'rejected-no-endpoints', '1'],
    ],
    ['draining', [503, 'draining', undefined, 'draining', '1']],
  ])('is told of %s', (outcome, expected) => {
    const waiting = new Waiting().headers().body().end(outcome);
    expect(waiting.refusal()).toEqual(expected);
    expect(waiting.stream.ended).toBe(true);
    expect(waiting.rig.budget.usedBytes).toBe(0);
    waiting.exchange.closed();
  });

  it.each(['closed', 'halfClosed'] as const)('leaves at once when it is %s', (how) => {
    const waiting = new Waiting().headers().body();
    waiting.exchange[how]();
    expect(waiting.rig.scheduler.waiters.size).toBe(0);
    expect(waiting.rig.budget.usedBytes).toBe(0);
    expect(waiting.rig.scheduler.taken).toBe(0);
  });

  it('joins another stream of the same request that has been picked for', () => {
    const rig = new ExchangeRig(1_000_000);
    const first = new Waiting(rig).headers({ 'x-request-id': 'one' }).body();
    first.end('dispatched');
    const second = new Waiting(rig).headers({ 'x-request-id': 'one' }).body();
    expect(rig.scheduler.waiters.size).toBe(0);
    expect(second.sent.length).toBe(2);
    expect(rig.scheduler.taken).toBe(1);
  });

  it('leaves the rest of a body for which there is no room at the gateway', () => {
    const rig = new ExchangeRig(8_000);
    const waiting = new Waiting(rig).headers();
    waiting.body(Buffer.alloc(6_000, ' '), false);
    expect(waiting.stream.paused).toBe(false);
    waiting.body(Buffer.alloc(6_000, ' '), false);
    // It can be picked for without the rest.
    expect(rig.scheduler.waiters.size).toBe(1);
    waiting.body(Buffer.alloc(6_000, ' '), false);
    expect(waiting.stream.paused).toBe(true);
    waiting.end('dispatched');
    expect(waiting.stream.paused).toBe(false);
    waiting.body(Buffer.alloc(10, ' '), true);
    const bodies = waiting.sent.filter(({ requestBody }) => requestBody);
    const echoed = bodies.map(
      ({ requestBody }) => requestBody.response.bodyMutation.streamedResponse.body.length,
    );
    expect(echoed.reduce((total, length) => total + length, 0)).toBe(18_010);
    expect(rig.budget.usedBytes).toBe(0);
  });
});
