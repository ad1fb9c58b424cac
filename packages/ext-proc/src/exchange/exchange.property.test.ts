/**
 * An exchange may end at any point of anything: whatever came before, nothing may stay behind. The
 * steps below are what a transport can do to an exchange, in any order, legal for a gateway or not.
 */
import { gzipSync } from 'node:zlib';
import type { WaitOutcome } from '@leadsman/scheduling/scheduler';
import fc from 'fast-check';
import { afterAll, expect, test, vi } from 'vitest';
import { encodeRequest } from '../protobuf/reference-codec.ts';
import { Exchange } from './exchange.ts';
import { type Answer, bodyBytesMax, ExchangeRig, FakeStream } from './fixture/exchange-rig.ts';

const modes = [
  'NONE',
  'STREAMED',
  'BUFFERED',
  'BUFFERED_PARTIAL',
  'FULL_DUPLEX_STREAMED',
  'GRPC',
] as const;

interface Setup {
  request: (typeof modes)[number];
  response: (typeof modes)[number];
  requestId: string;
  type: string;
  encoding: string;
  answer: Answer;
  queues: boolean;
  atDecisionTimeout: 'pick' | 'refuse';
  bodyAboveMax: 'pick' | 'refuse';
}
const setup: fc.Arbitrary<Setup> = fc.record({
  request: fc.constantFrom(...modes),
  response: fc.constantFrom(...modes),
  requestId: fc.constantFrom('', 'same', 'other'),
  type: fc.constantFrom('application/json', 'text/plain'),
  encoding: fc.constantFrom('', 'gzip'),
  answer: fc.constantFrom<Answer>('picked', 'picked', 'picked', 'no_endpoint', 'shed', 'throws'),
  queues: fc.boolean(),
  atDecisionTimeout: fc.constantFrom('pick', 'refuse'),
  bodyAboveMax: fc.constantFrom('pick', 'refuse'),
});

const plainBody = Buffer.from(`{"model":"m","prompt":"${'p'.repeat(700_000)}"}`);
const zippedBody = gzipSync(plainBody);
const bodies = { small: 12, odd: 5_001, large: 400_000, tooLarge: bodyBytesMax + 1 } as const;

type Step =
  | { do: 'headers' | 'responseHeaders' | 'body' | 'responseBody'; size: number; end: boolean }
  | { do: 'trailers' | 'responseTrailers' | 'oversized' | 'malformed' | 'halfClose' }
  | { do: 'block' | 'drain' | 'turn' | 'deadline' }
  | { do: 'endWait'; outcome: WaitOutcome };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('headers', 'responseHeaders', 'body', 'responseBody'),
      size: fc.constantFrom(0, ...Object.values(bodies)),
      end: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('trailers', 'responseTrailers', 'oversized', 'malformed', 'halfClose'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('block', 'drain', 'turn', 'deadline') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('endWait'),
      outcome: fc.constantFrom<WaitOutcome>(
        'dispatched',
        'dispatched',
        'rejected-saturated',
        'rejected-ttl-expired',
        'rejected-no-endpoints',
        'draining',
      ),
    }),
  },
);

/** One exchange and what a test may do to it. */
class Driven {
  readonly #setup: Setup;
  readonly #stream = new FakeStream();
  readonly #exchange: Exchange;
  readonly #rig: ExchangeRig;
  #isFirst = true;

  constructor(rig: ExchangeRig, chosen: Setup) {
    this.#setup = chosen;
    this.#rig = rig;
    this.#exchange = new Exchange(rig.context, this.#stream);
  }

  async take(next: Step): Promise<void> {
    const { answer, atDecisionTimeout, bodyAboveMax } = this.#setup;
    Object.assign(this.#rig.context.options, { atDecisionTimeout, bodyAboveMax });
    this.#rig.scheduler.answer = answer;
    this.#rig.scheduler.queues = this.#setup.queues;
    if (next.do === 'turn') await new Promise((resolve) => setImmediate(resolve));
    else if (next.do === 'endWait') this.#rig.scheduler.endWait(next.outcome);
    else if (next.do === 'block') this.#stream.backlogged = true;
    else if (next.do === 'deadline') this.#rig.passDeadline();
    else if (next.do === 'drain') {
      this.#stream.backlogged = false;
      if (!this.#stream.ended) this.#exchange.drained();
    } else if (!this.#stream.ended) this.#arrive(next);
  }

  /** Messages that went to the gateway. */
  get sent(): number {
    return this.#stream.sent;
  }

  close(): void {
    this.#exchange.closed();
  }

  #arrive(next: Step): void {
    if (next.do === 'halfClose') this.#exchange.halfClosed();
    else if (next.do === 'oversized') this.#exchange.oversized();
    else if (next.do === 'malformed') this.#exchange.message(Buffer.from([0xff]));
    else this.#exchange.message(this.#encode(next));
  }

  #encode(next: Step): Uint8Array {
    const message: Record<string, unknown> = this.#messageOf(next);
    if (this.#isFirst) {
      const { request, response } = this.#setup;
      message.protocolConfig = {
        requestBodyMode: modes.indexOf(request),
        responseBodyMode: modes.indexOf(response),
      };
    }
    this.#isFirst = false;
    return encodeRequest(message);
  }

  #messageOf(next: Step): Record<string, unknown> {
    const { requestId, type, encoding } = this.#setup;
    const whole = encoding === 'gzip' ? zippedBody : plainBody;
    if (next.do === 'trailers') return { requestTrailers: {} };
    if (next.do === 'responseTrailers') return { responseTrailers: {} };
    if (!('size' in next)) throw new RangeError(next.do);
    const { size, end: endOfStream } = next;
    const body = size > whole.length ? Buffer.alloc(size, ' ') : whole.subarray(0, size);
    if (next.do === 'body') return { requestBody: { body, endOfStream } };
    if (next.do === 'responseBody') return { responseBody: { body, endOfStream } };
    const list = { 'x-request-id': requestId, 'content-type': type, 'content-encoding': encoding };
    const headers = Object.entries(list).map(([key, value]) => ({
      key,
      rawValue: Buffer.from(value),
    }));
    const part = { headers: { headers }, endOfStream };
    return next.do === 'headers' ? { requestHeaders: part } : { responseHeaders: part };
  }
}

const plan = fc.record({
  first: setup,
  second: setup,
  steps: fc.array(fc.tuple(fc.nat(1), step), { maxLength: 14 }),
  beginsWell: fc.boolean(),
  heldBytesMax: fc.constantFrom(1_000, 500_000, 64_000_000),
});

const rejections = vi.fn();
process.on('unhandledRejection', rejections);
process.on('uncaughtException', rejections);
afterAll(() => {
  process.off('unhandledRejection', rejections);
  process.off('uncaughtException', rejections);
});

test('buffered bodies that wait to be read are held within the budget', async () => {
  const heldBytesMax = 2_000_000;
  const rig = new ExchangeRig(heldBytesMax);
  const { scheduler, budget, counters } = rig;
  const chosen: Setup = {
    request: 'BUFFERED',
    response: 'STREAMED',
    requestId: '',
    type: 'application/json',
    encoding: '',
    answer: 'picked',
    queues: false,
    atDecisionTimeout: 'pick',
    bodyAboveMax: 'pick',
  };
  const all = Array.from({ length: 20 }, () => new Driven(rig, chosen));
  for (const driven of all) {
    await driven.take({ do: 'headers', size: 0, end: false });
    await driven.take({ do: 'body', size: bodies.large, end: true });
    expect(budget.usedBytes).toBeLessThanOrEqual(heldBytesMax);
  }
  // Those that found no room were picked for at once, the others when they were read.
  expect(counters.get('body_memory_full')).toBeGreaterThan(0);
  await vi.waitFor(() => expect(scheduler.open.size).toBe(all.length));
  expect(budget.usedBytes).toBe(0);
  for (const driven of all) {
    // The reply to the headers and the pick: what was only read is not given back.
    expect(driven.sent).toBe(2);
    driven.close();
  }
  expect(scheduler.open.size).toBe(0);
});

test('two exchanges that end anywhere leave no ticket, byte, timer or entry behind', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ first, second, steps, beginsWell, heldBytesMax }) => {
      const rig = new ExchangeRig(heldBytesMax);
      const { context, scheduler, budget, counters } = rig;
      const both = [first, second].map((chosen) => new Driven(rig, chosen));
      if (beginsWell) {
        for (const driven of both) await driven.take({ do: 'headers', size: 0, end: false });
      }
      for (const [which, next] of steps) await both[which]!.take(next);
      for (const driven of both) {
        driven.close();
        // The transport promises once; a second time must not count.
        driven.close();
      }
      // Slices and inflating that were under way come to nothing.
      await vi.waitFor(() => expect(context.readers.inflating).toBe(0));
      await new Promise((resolve) => setImmediate(resolve));
      expect(scheduler.open.size).toBe(0);
      expect(scheduler.waiters.size).toBe(0);
      expect(budget.usedBytes).toBe(0);
      expect(context.registry.size).toBe(0);
      expect(context.waiting.size).toBe(0);
      expect(counters.get('exchanges_started')).toBe(counters.get('exchanges_ended'));
      if (first.answer !== 'throws' && second.answer !== 'throws') {
        expect(counters.get('handler_errors')).toBe(0);
      }
      expect(rejections).not.toHaveBeenCalled();
    }),
    { numRuns: 300 },
  );
}, 120_000);
