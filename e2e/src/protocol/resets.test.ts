/** A gateway ends nearly every exchange by a reset; nothing else on the connection may notice. */
import { connect } from 'node:net';
import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { drive } from './load.ts';
import { framed, framedHeaders } from './messages.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';
import { rawCall, rawSession } from './raw-call.ts';

let picker: PickerUnderTest;
beforeEach(async () => {
  picker = await startPickerUnderTest();
});
afterEach(() => picker.stop());

test('20,000 resets at full speed on one connection leave a long exchange on it alive', async () => {
  const session = await rawSession(picker.port);
  const long = await rawCall(picker.port, session);
  let received = 0;
  long.stream.on('data', (chunk: Buffer) => {
    received += chunk.length;
  });
  long.write(framedHeaders('long'));
  await waitUntil(() => received > 0, { what: 'the long exchange to be picked for' });

  const result = await drive(session, {
    total: 20_000,
    concurrency: 200,
    endings: ['reset', 'reset-early'],
  });

  expect(result).toEqual({ exchanges: 20_000, failed: 0 });
  expect(session.destroyed).toBe(false);
  const before = received;
  long.write(framed({ response_headers: { headers: {}, end_of_stream: true } }));
  expect(await long.grpcStatus).toBe('0');
  expect(received).toBeGreaterThan(before);
  await waitUntil(() => picker.server.openCalls === 0, { what: 'all calls to be closed' });
  expect(picker.scheduler.open.size).toBe(0);
  expect(picker.server.requestsInFlight).toBe(0);
  session.destroy();
}, 180_000);

test('500 connections that come and go leave no session', async () => {
  for (let i = 0; i < 500; i++) {
    const session = await rawSession(picker.port);
    if (i % 3 === 0) {
      const call = await rawCall(picker.port, session);
      call.write(framedHeaders('x'));
    }
    session.destroy();
  }
  await waitUntil(() => picker.server.openSessions === 0 && picker.server.openCalls === 0, {
    what: 'all sessions to be gone',
  });
  const { sessions_opened, sessions_closed } = picker.counters.all();
  expect(sessions_closed).toBe(sessions_opened);
  expect(picker.scheduler.open.size).toBe(0);
});

test('a connection that is cut in the middle of a frame is just closed', async () => {
  const socket = connect(picker.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  socket.write(Buffer.from([0, 0, 10, 4]));
  await waitUntil(() => picker.server.openSessions === 1, { what: 'the session' });
  socket.destroy();
  await waitUntil(() => picker.server.openSessions === 0, { what: 'its end' });
});
