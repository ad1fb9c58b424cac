/** Messages of the feed service, by which frames are pushed and views are watched. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  decodeFrame,
  decodeReceived,
  decodeWatchRequest,
  encodeFrame,
  encodeReceived,
  encodeWatchRequest,
  FeedMessageError,
} from '../../packages/link/src/grpc/feed-service.ts';
import { decodesOr, type FuzzTarget } from './target.ts';

const payload = fc.uint8Array({ maxLength: 120 });
const watch = fc.record({ name: fc.string({ maxLength: 20 }), intervalMs: fc.nat() });

/** What was understood means the same when it is written again. */
function check(input: Uint8Array, decodePayload: typeof decodeFrame): void {
  decodesOr(FeedMessageError, () => {
    const frame = decodePayload(input);
    assert.ok(frame.length <= input.length);
    assert.deepEqual(Buffer.from(decodeFrame(encodeFrame(frame))), Buffer.from(frame));
  });
  decodesOr(FeedMessageError, () => {
    const frames = decodeReceived(input);
    assert.ok(Number.isSafeInteger(frames) && frames >= 0, `${frames} frames`);
    assert.equal(decodeReceived(encodeReceived(frames)), frames);
  });
  decodesOr(FeedMessageError, () => {
    const request = decodeWatchRequest(input);
    assert.deepEqual(decodeWatchRequest(encodeWatchRequest(request)), request);
  });
}

export const feed: FuzzTarget = {
  name: 'feed',
  sound: fc.oneof(
    payload.map((bytes) => Uint8Array.from(encodeFrame(bytes))),
    fc.nat().map((count) => Uint8Array.from(encodeReceived(count))),
    watch.map((request) => Uint8Array.from(encodeWatchRequest(request))),
  ),
  tokens: [[0x0a, 0x80, 0x80, 0x80, 0x80, 0x10], [0x12, 0xff], [0x48, 1], [0x0b], [0x0c]].map(
    (bytes) => Uint8Array.from(bytes),
  ),
  check: (input) => check(input, decodeFrame),
  planted: {
    what: 'a length above what has come is believed',
    check: (input) =>
      check(input, (bytes) => {
        if (bytes[0] === 0x0a && bytes[1]! < 0x80 && bytes[1]! + 2 > bytes.length) {
          return new Uint8Array(bytes[1]!);
        }
        return decodeFrame(bytes);
      }),
  },
};
