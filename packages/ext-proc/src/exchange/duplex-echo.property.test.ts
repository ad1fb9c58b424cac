/**
 * Full duplex gives a body back to the gateway: every byte once, in order, and its end once, after
 * the pick, however chunks are cut, whenever the pick is made, however slowly the gateway reads.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeResponse, encodeRequest } from '../protobuf/reference-codec.ts';
import { Exchange } from './exchange.ts';
import { ExchangeRig, FakeStream } from './fixture/exchange-rig.ts';

const duplex = { requestBodyMode: 4, responseBodyMode: 4 };
const length = fc.oneof(fc.nat(40), fc.nat(9_000), fc.constantFrom(62_000, 62_001, 300_000));
const plan = fc.record({
  /** Chunk sizes, with what happens before each chunk. */
  chunks: fc.array(
    fc.record({ length, before: fc.constantFrom('', '', 'block', 'drain', 'turn', 'deadline') }),
    { maxLength: 12 },
  ),
  end: fc.constantFrom('last chunk', 'empty chunk', 'trailers', 'repeated'),
  type: fc.constantFrom('application/json', 'text/plain'),
  /** Small ones make the body exceed its budget. */
  heldBytesMax: fc.constantFrom(100, 200_000, 64_000_000),
  /** Messages that the gateway reads before the stream is backlogged again. */
  readsAtOnce: fc.constantFrom(1, 3, 1_000),
});

/** What came back, checked for its order as it comes. */
class Echo {
  readonly bytes: Buffer[] = [];
  readonly order: string[] = [];

  take(message: Uint8Array): void {
    const [part, reply] = Object.entries(decodeResponse(message))[0] as [string, object];
    if (part !== 'requestBody') {
      this.order.push(part);
      return;
    }
    const { body = Buffer.alloc(0), endOfStream = false } = (
      reply as {
        response: { bodyMutation: { streamedResponse: { body?: Buffer; endOfStream?: boolean } } };
      }
    ).response.bodyMutation.streamedResponse;
    expect(this.order).not.toContain('end');
    expect(body.length).toBeLessThanOrEqual(62_000);
    this.bytes.push(body);
    if (this.order.at(-1) !== 'body') this.order.push('body');
    if (endOfStream) this.order.push('end');
  }
}

test('every byte comes back once, in order, with one end', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ chunks, end, type, heldBytesMax, readsAtOnce }) => {
      const rig = new ExchangeRig(heldBytesMax);
      const stream = new FakeStream();
      const exchange = new Exchange(rig.context, stream);
      const echo = new Echo();
      let unread = 0;
      stream.onSend = (message) => {
        echo.take(message);
        if (++unread >= readsAtOnce) stream.backlogged = true;
      };
      const drain = (): void => {
        unread = 0;
        stream.backlogged = false;
        exchange.drained();
      };
      const send = (message: object): void => exchange.message(encodeRequest(message));
      const headers = [{ key: 'content-type', rawValue: Buffer.from(type) }];
      send({ requestHeaders: { headers: { headers } }, protocolConfig: duplex });
      const put: Buffer[] = [];
      for (const [i, chunk] of chunks.entries()) {
        if (chunk.before === 'block') stream.backlogged = true;
        else if (chunk.before === 'drain') drain();
        else if (chunk.before === 'deadline') rig.passDeadline();
        else if (chunk.before === 'turn') await new Promise((resolve) => setImmediate(resolve));
        const body = Buffer.alloc(chunk.length, 0x20 + i);
        put.push(body);
        const endOfStream = end === 'last chunk' && i === chunks.length - 1;
        send({ requestBody: { body, endOfStream } });
      }
      if (end === 'trailers') send({ requestTrailers: {} });
      else if (end !== 'last chunk' || chunks.length === 0)
        send({ requestBody: { endOfStream: true } });
      if (end === 'repeated') send({ requestBody: { body: put.at(-1), endOfStream: true } });
      // A large chunk is read in slices, and the gateway reads on.
      const whole = Buffer.concat(put);
      for (let i = 0; i < 1_000 && (echo.order.length < 2 || rig.budget.usedBytes > 0); i++) {
        await new Promise((resolve) => setImmediate(resolve));
        drain();
      }
      drain();
      expect(Buffer.compare(Buffer.concat(echo.bytes), whole)).toBe(0);
      const last = end === 'trailers' ? 'requestTrailers' : 'end';
      const isBodiless = whole.length === 0 && end === 'trailers';
      expect(echo.order).toEqual(['requestHeaders', ...(isBodiless ? [] : ['body']), last]);
      expect(rig.budget.usedBytes).toBe(0);
      exchange.closed();
      expect(rig.scheduler.open.size).toBe(0);
    }),
    { numRuns: 300 },
  );
}, 60_000);
