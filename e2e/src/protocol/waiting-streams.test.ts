/** Streams that wait for their turn with more of a body than there is room for. */
import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ProtocolClient, type ProtocolStream } from './client.ts';
import { type FlowControlledPicker, startFlowControlledPicker } from './flow-controlled-picker.ts';

const heldBytesMax = 1_000_000;
const piece = Buffer.alloc(50_000, ' ');
const pieces = 100;
/** What a call may have under way in the transport beside what is held. */
const transitBytes = 400_000;

let picker: FlowControlledPicker;
let client: ProtocolClient;
beforeEach(async () => {
  // No engine yet: whoever comes waits.
  const flowControl = { noEndpointTtlMs: 60_000 };
  picker = await startFlowControlledPicker(flowControl, [], {}, heldBytesMax);
  client = new ProtocolClient({ port: picker.port });
});
afterEach(async () => {
  client.close();
  await picker.stop();
});

async function sendMuch(): Promise<ProtocolStream> {
  const stream = client.open();
  stream.requestHeaders(
    { 'content-type': 'application/json' },
    { requestMode: 'FULL_DUPLEX_STREAMED', responseMode: 'FULL_DUPLEX_STREAMED' },
  );
  for (let i = 1; i <= pieces; i++) stream.requestBody(piece, i === pieces);
  await waitUntil(() => picker.waiting() === 1, { what: 'it to wait' });
  return stream;
}

test('the rest of the body stays with the sender, and comes when the turn has come', async () => {
  const stream = await sendMuch();
  expect(picker.server.heldBytes).toBeLessThan(heldBytesMax + transitBytes);
  picker.setEngines([8000]);
  let bytes = 0;
  for (let ended = false; !ended; ) {
    const streamed = (await stream.reply()).request_body?.response?.body_mutation;
    bytes += streamed?.streamed_response?.body.length ?? 0;
    ended = streamed?.streamed_response?.end_of_stream === true;
  }
  expect(bytes).toBe(pieces * piece.length);
  stream.reset();
  await waitUntil(() => picker.open() === 0, { what: 'its release' });
});

test('one whose gateway resets it leaves at once, though its reading is paused', async () => {
  const stream = await sendMuch();
  stream.reset();
  await waitUntil(() => picker.waiting() === 0, { what: 'it to leave' });
  await waitUntil(() => picker.server.openCalls === 0, { what: 'the end of the call' });
  await waitUntil(() => picker.server.heldBytes === 0, { what: 'all bytes to be given back' });
});
