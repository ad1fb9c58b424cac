/** Large bodies pass through bounded memory, however late the peer reads. */
import { createHash } from 'node:crypto';
import { callBytes } from '@leadsman/ext-proc/transport/grpc-call';
import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { framed } from './messages.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';
import { rawCall } from './raw-call.ts';

const megabyte = 1_048_576;
const chunkBytes = 60_000;
const bodyBytes = 200 * megabyte;
const chunks = Math.ceil(bodyBytes / chunkBytes);

let picker: PickerUnderTest;
beforeEach(async () => {
  picker = await startPickerUnderTest();
});
afterEach(() => picker.stop());

const headers = {
  headers: { headers: [{ key: 'content-type', raw_value: Buffer.from('application/json') }] },
};
const duplex = {
  request_body_mode: 'FULL_DUPLEX_STREAMED',
  response_body_mode: 'FULL_DUPLEX_STREAMED',
};
const begins = {
  request: [{ request_headers: headers, protocol_config: duplex }],
  response: [
    { request_headers: { ...headers, end_of_stream: true }, protocol_config: duplex },
    { response_headers: headers },
  ],
} as const;

test.each(['request', 'response'] as const)(
  'a %s of 200 MB whose sender reads nothing at first and then all',
  async (direction) => {
    const call = await rawCall(picker.port);
    const { stream } = call;
    stream.pause();
    let heldMost = 0;
    const look = (): void => {
      heldMost = Math.max(heldMost, picker.server.heldBytes);
    };
    for (const message of begins[direction]) call.write(framed(message));
    const body = Buffer.alloc(chunkBytes, ' ');
    const chunk = framed({ [`${direction}_body`]: { body } });
    let sent = 0;
    const push = (): void => {
      while (sent < chunks) {
        look();
        sent++;
        if (!stream.write(chunk)) {
          stream.once('drain', push);
          return;
        }
      }
    };
    push();
    // The picker takes no more, since its answers are not read.
    let before = -1;
    await waitUntil(
      () => {
        look();
        const still = sent === before;
        before = sent;
        return still;
      },
      { what: 'the sender to be held up', intervalMs: 300 },
    );
    expect(sent).toBeLessThan(chunks);
    const hash = createHash('sha256');
    let received = 0;
    stream.on('data', (data: Buffer) => {
      received += data.length;
      hash.update(data);
      look();
    });
    stream.resume();
    const echoed = () => picker.counters.get('body_bytes_echoed');
    await waitUntil(() => echoed() === chunks * chunkBytes && received > echoed(), {
      what: 'all of it to come back',
      deadlineMs: 120_000,
    });
    // The cap on a body that waits for its pick, one window of the connection and small change.
    expect(heldMost).toBeLessThan(direction === 'request' ? 50 * megabyte : 18 * megabyte);
    expect(heldMost).toBeGreaterThan(0);
    // An open call counts by itself.
    await waitUntil(() => picker.server.heldBytes === callBytes, { what: 'no bytes to be held' });
    call.close();
    await waitUntil(() => picker.server.heldBytes === 0, { what: 'nothing to be held' });
  },
  180_000,
);
