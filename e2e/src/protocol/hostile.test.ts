/** What a hostile or broken peer costs: a closed connection and bounded memory, nothing else. */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { ExtProcOptions } from '@leadsman/ext-proc/server/server';
import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { framed, framedHeaders } from './messages.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';
import { rawCall, rawSession } from './raw-call.ts';

const megabyte = 1_048_576;
let picker: PickerUnderTest;
function adjust(options: ExtProcOptions): void {
  options.limits.firstMessageTimeoutMs = 1_000;
  options.limits.messageTimeoutMs = 1_000;
  options.limits.connectionsMax = 50;
  options.limits.streamsPerConnectionMax = 2_000;
  options.heldBytesMax = 8 * megabyte;
}
beforeEach(async () => {
  picker = await startPickerUnderTest(adjust);
});
afterEach(async () => {
  // Whatever was done, the next one is served.
  const call = await rawCall(picker.port);
  call.write(framedHeaders('afterwards'));
  call.write(framed({ response_headers: { headers: {}, end_of_stream: true } }));
  expect(await call.grpcStatus).toBe('0');
  call.close();
  await picker.stop();
});

function open(): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(picker.port, '127.0.0.1', () => resolve(socket));
    socket.on('error', () => {});
    socket.resume();
  });
}
const closed = (socket: Socket) => waitUntil(() => socket.closed, { what: 'the socket to close' });

test('bytes that are no HTTP/2 close their connection', async () => {
  for (const bytes of [Buffer.from('GET / HTTP/1.1\r\n\r\n'), randomBytes(5_000)]) {
    const socket = await open();
    socket.write(bytes);
    await closed(socket);
  }
});

test('garbage frames after a good start close their connection', async () => {
  const socket = await open();
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
  socket.write(randomBytes(20_000));
  await closed(socket);
});

test('a connection that says nothing is closed', async () => {
  await picker.stop();
  picker = await startPickerUnderTest((options) => {
    options.limits.handshakeTimeoutMs = 1_000;
  });
  await closed(await open());
  expect(picker.counters.get('sessions_timed_out')).toBe(1);
});

test('a claim of 100 MB is refused at once and costs no memory', async () => {
  const before = process.memoryUsage().rss;
  const session = await rawSession(picker.port);
  const claim = Buffer.from([0, 0x06, 0x40, 0, 0]);
  const calls = await Promise.all(Array.from({ length: 100 }, () => rawCall(picker.port, session)));
  for (const call of calls) call.write(claim);
  for (const call of calls) expect(await call.grpcStatus).toBe('8');
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * megabyte);
  session.destroy();
});

test('half-open calls are ended, and a watch of them is not kept', async () => {
  const session = await rawSession(picker.port);
  const calls = await Promise.all(
    Array.from({ length: 1_500 }, () => rawCall(picker.port, session)),
  );
  for (const call of calls) expect(await call.grpcStatus).toBe('4');
  expect(picker.counters.get('streams_timed_out')).toBe(1_500);
  expect(picker.server.openCalls).toBe(0);
  session.destroy();
});

test('a message of which the rest does not come ends its call, also after a good start', async () => {
  const session = await rawSession(picker.port);
  const calls = await Promise.all(Array.from({ length: 200 }, () => rawCall(picker.port, session)));
  for (const [i, call] of calls.entries()) {
    const message = framedHeaders(`call ${i}`);
    call.write(message);
    // In the header of the next one, or in its middle.
    call.write(message.subarray(0, i % 2 === 0 ? 3 : message.length - 1));
  }
  for (const call of calls) expect(await call.grpcStatus).toBe('4');
  expect(picker.counters.get('streams_timed_out')).toBe(200);
  session.destroy();
  await waitUntil(() => picker.server.openCalls === 0, { what: 'the calls to end' });
  await waitUntil(() => picker.server.heldBytes === 0, { what: 'all bytes to be given back' });
});

test('replies that nobody reads count as held, and at the bound new calls are refused', async () => {
  const session = await rawSession(picker.port);
  const start = framed({
    request_headers: {
      headers: { headers: [{ key: 'content-type', raw_value: Buffer.from('text/plain') }] },
    },
    protocol_config: { request_body_mode: 'FULL_DUPLEX_STREAMED' },
  });
  const chunk = framed({ request_body: { body: Buffer.alloc(60_000, 'x') } });
  const calls = [];
  for (let i = 0; i < 400 && picker.counters.get('calls_without_memory') === 0; i++) {
    const call = await rawCall(picker.port, session);
    calls.push(call);
    call.stream.pause();
    call.write(start);
    for (let n = 0; n < 25; n++) call.write(chunk);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await waitUntil(
    async () => {
      const call = await rawCall(picker.port, session);
      calls.push(call);
      call.write(start);
      return picker.counters.get('calls_without_memory') > 0;
    },
    { what: 'a call to be refused for want of memory' },
  );
  expect(picker.server.heldBytes).toBeLessThan(40 * megabyte);
  session.destroy();
  await waitUntil(() => picker.server.openCalls === 0, { what: 'the calls to end' });
  await waitUntil(() => picker.server.heldBytes === 0, { what: 'all bytes to be given back' });
});

test('more connections than allowed are turned away, the old ones stay', async () => {
  const sessions = [];
  for (let i = 0; i < 50; i++) sessions.push(await rawSession(picker.port));
  const extra = await open();
  extra.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0');
  await closed(extra);
  expect(sessions.every((session) => !session.destroyed)).toBe(true);
  for (const session of sessions) session.destroy();
  await waitUntil(() => picker.server.openSessions === 0, { what: 'the sessions to end' });
});

test('bodies for which there is no memory are not held, and those requests go on', async () => {
  const session = await rawSession(picker.port);
  const headers = framed({
    request_headers: {
      headers: {
        headers: [{ key: 'content-type', raw_value: Buffer.from('application/json') }],
      },
    },
    protocol_config: { request_body_mode: 'FULL_DUPLEX_STREAMED' },
  });
  const chunk = framed({ request_body: { body: Buffer.alloc(60_000, 'x') } });
  const before = process.memoryUsage().rss;
  let answered = 0;
  const calls = await Promise.all(Array.from({ length: 20 }, () => rawCall(picker.port, session)));
  for (const call of calls) {
    call.stream.once('data', () => answered++);
    call.write(headers);
    for (let i = 0; i < 35; i++) call.write(chunk);
  }
  await waitUntil(() => answered >= 15, { what: 'requests beyond the budget to be picked for' });
  expect(picker.counters.get('body_memory_full')).toBeGreaterThan(0);
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * megabyte);
  session.destroy();
  await waitUntil(() => picker.server.openCalls === 0, { what: 'the calls to end' });
});

describe('calls that cannot be served', () => {
  test('an unknown method is UNIMPLEMENTED', async () => {
    const call = await rawCall(picker.port, undefined, { ':path': '/some.Service/Method' });
    expect(await call.grpcStatus).toBe('12');
    call.close();
  });

  test.each([
    [{ ':method': 'PUT' }, 405],
    [{ 'content-type': 'application/json' }, 415],
    [{ 'content-type': 'application/grpc-web' }, 415],
  ])('what is no gRPC call is turned away: %j', async (headers, httpStatus) => {
    const call = await rawCall(picker.port, undefined, headers);
    const status = new Promise((resolve) => {
      call.stream.once('response', (received) => resolve(received[':status']));
    });
    expect(await status).toBe(httpStatus);
    expect(picker.counters.get('calls_turned_away')).toBe(1);
    expect(picker.counters.get('exchanges_started')).toBe(0);
    call.close();
  });

  test('a compressed message is UNIMPLEMENTED', async () => {
    const call = await rawCall(picker.port);
    call.write(Buffer.from([1, 0, 0, 0, 1, 0]));
    expect(await call.grpcStatus).toBe('12');
    call.close();
  });
});

test('a peer that does not read its answers stops being read', async () => {
  const session = await rawSession(picker.port);
  const call = await rawCall(picker.port, session);
  call.stream.pause();
  call.write(
    framed({
      request_headers: {
        headers: { headers: [{ key: 'content-type', raw_value: Buffer.from('text/plain') }] },
      },
      protocol_config: { request_body_mode: 'FULL_DUPLEX_STREAMED' },
    }),
  );
  const chunk = framed({ request_body: { body: Buffer.alloc(60_000, 'x') } });
  const before = picker.counters.get('body_bytes_echoed');
  for (let i = 0; i < 2_000; i++) call.write(chunk);
  let echoed = -1;
  await waitUntil(
    () => {
      const now = picker.counters.get('body_bytes_echoed') - before;
      const still = now === echoed && now > 0;
      echoed = now;
      return still;
    },
    { what: 'the echo to stop', intervalMs: 200 },
  );
  expect(echoed).toBeLessThan(20 * megabyte);
  session.destroy();
});
