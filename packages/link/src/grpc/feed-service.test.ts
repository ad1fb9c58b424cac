import { fileURLToPath } from 'node:url';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeFrame,
  decodeReceived,
  decodeWatchRequest,
  encodeFrame,
  encodeReceived,
  encodeWatchRequest,
  FeedMessageError,
  feedService,
} from './feed-service.ts';

const loaded = loadSync(fileURLToPath(new URL('../../proto/feed.proto', import.meta.url)), {
  longs: Number,
  keepCase: true,
  defaults: true,
});
type Method = MethodDefinition<object, object>;
const service = loaded['leadsman.v1.Feed'] as unknown as Record<'Push' | 'Watch', Method> &
  ServiceDefinition;

describe('the feed service', () => {
  it('has the paths and stream directions of feed.proto', () => {
    for (const name of ['Push', 'Watch'] as const) {
      const { path, requestStream, responseStream } = service[name];
      expect(feedService[name]).toMatchObject({ path, requestStream, responseStream });
    }
  });

  it('writes and reads the bytes that feed.proto means', () => {
    const bytes = fc.uint8Array({ maxLength: 700 });
    const counts = fc.nat({ max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(bytes, counts, fc.string(), fc.nat(), (payload, frames, name, intervalMs) => {
        const { requestDeserialize, requestSerialize, responseDeserialize, responseSerialize } =
          service.Push;
        expect(requestDeserialize(encodeFrame(payload))).toEqual({ payload: Buffer.from(payload) });
        expect(Buffer.from(decodeFrame(requestSerialize({ payload })))).toEqual(
          Buffer.from(payload),
        );
        expect(responseDeserialize(encodeReceived(frames))).toEqual({ frames });
        expect(decodeReceived(responseSerialize({ frames }))).toBe(frames);
        const watch = service.Watch;
        expect(watch.requestDeserialize(encodeWatchRequest({ name, intervalMs }))).toEqual({
          name,
          interval_ms: intervalMs,
        });
        expect(
          decodeWatchRequest(watch.requestSerialize({ name, interval_ms: intervalMs })),
        ).toEqual({ name, intervalMs });
      }),
    );
  });

  it('skips fields it does not know', () => {
    // Field 9 as a varint, field 10 as bytes, field 11 and 12 fixed, then the payload.
    const unknown = [0x48, 0x96, 0x01, 0x52, 2, 1, 1, 0x59, ...Array(8).fill(1), 0x65, 1, 1, 1, 1];
    const message = Uint8Array.from([...unknown, ...encodeFrame(Uint8Array.of(7))]);
    expect([...decodeFrame(message)]).toEqual([7]);
  });

  it('refuses a count that a number cannot hold, and skips one it does not know', () => {
    // Found by `npm run fuzz`: 2^53 in field 1, then in field 2, then in field 9.
    const large = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
    expect(() => decodeReceived(Uint8Array.of(0x08, ...large))).toThrow(FeedMessageError);
    expect(() => decodeWatchRequest(Uint8Array.of(0x10, ...large))).toThrow(FeedMessageError);
    expect(decodeReceived(Uint8Array.of(0x48, ...large, 0x08, 7))).toBe(7);
  });

  it('fails on arbitrary bytes only with its own error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        for (const decode of [decodeFrame, decodeReceived, decodeWatchRequest]) {
          try {
            decode(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(FeedMessageError);
          }
        }
      }),
    );
  });
});
