/** Going out of service: new calls go elsewhere, open ones finish, nothing waits for ever. */
import { connect } from 'node:net';
import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { framed, framedHeaders } from './messages.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';
import { rawCall, rawSession } from './raw-call.ts';

let picker: PickerUnderTest;
beforeEach(async () => {
  picker = await startPickerUnderTest();
});
afterEach(() => picker.stop());

const responseEnd = framed({ response_headers: { headers: {}, end_of_stream: true } });

async function pickedCall(session: Awaited<ReturnType<typeof rawSession>>) {
  const call = await rawCall(picker.port, session);
  const first = new Promise((resolve) => call.stream.once('data', resolve));
  call.write(framedHeaders(''));
  await first;
  return call;
}

test('peers are told to go, a call they had already opened is served, open ones finish', async () => {
  const session = await rawSession(picker.port);
  const goaways: number[] = [];
  session.on('goaway', (code: number) => goaways.push(code));
  const long = await pickedCall(session);
  const drained = picker.server.drain(0, 20_000);
  // Opened before the notice can have been read.
  const late = await rawCall(picker.port, session);
  late.write(framedHeaders(''));
  late.write(responseEnd);
  expect(await late.grpcStatus).toBe('0');
  await waitUntil(() => goaways.length > 0, { what: 'the notice' });
  expect(goaways[0]).toBe(0);
  expect(picker.health.ready).toBe(false);
  long.write(responseEnd);
  expect(await long.grpcStatus).toBe('0');
  await drained;
  await waitUntil(() => picker.server.openSessions === 0, { what: 'the sessions to end' });
  await expect(rawSessionOrError(picker.port)).resolves.toBe('refused');
});

test('during the notice everything is still served, new connections too', async () => {
  const drained = picker.server.drain(1_000, 5_000);
  expect(picker.health.ready).toBe(false);
  const session = await rawSession(picker.port);
  const call = await pickedCall(session);
  call.write(responseEnd);
  expect(await call.grpcStatus).toBe('0');
  await drained;
});

test('a call that outlives the grace period is cut off, and its place given back', async () => {
  const session = await rawSession(picker.port);
  const call = await pickedCall(session);
  await picker.server.drain(0, 100);
  expect(await call.grpcStatus).toBe('');
  await waitUntil(() => picker.scheduler.open.size === 0, { what: 'the release' });
  expect(picker.scheduler.released[0]?.outcome.aborted).toBe(true);
});

function rawSessionOrError(port: number): Promise<'open' | 'refused'> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve('open');
    });
    socket.on('error', () => resolve('refused'));
  });
}
