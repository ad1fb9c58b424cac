/** HTTP/2 pings: gateways keep connections alive by them, some often, some without any call. */
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { requireEnvoy, waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startGateway } from './gateway.ts';
import { framed, framedHeaders } from './messages.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';
import { rawCall } from './raw-call.ts';
import { startUpstream } from './upstream.ts';

let picker: PickerUnderTest;
beforeEach(async () => {
  picker = await startPickerUnderTest();
});
afterEach(() => picker.stop());

const responseEnd = framed({ response_headers: { headers: {}, end_of_stream: true } });
const preface = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const ping = Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);

async function pingingSession(inFlight: number) {
  const session = connectHttp2(`http://127.0.0.1:${picker.port}`, {
    maxOutstandingPings: inFlight,
  });
  session.on('error', () => {});
  const goaways: number[] = [];
  session.on('goaway', (code: number) => goaways.push(code));
  await new Promise((resolve) => session.once('connect', resolve));
  /** Sends `total` pings, always `inFlight` of them unanswered; resolves when all are answered. */
  const pingMany = (total: number): Promise<void> =>
    new Promise((resolve) => {
      let sent = 0;
      let answered = 0;
      const next = (): void => {
        if (sent === total) return;
        sent++;
        session.ping((error) => {
          if (error !== null) return;
          if (++answered === total) resolve();
          else next();
        });
      };
      for (let i = 0; i < inFlight; i++) next();
    });
  return { session, goaways, pingMany };
}

async function served(session: Awaited<ReturnType<typeof pingingSession>>['session']) {
  const call = await rawCall(picker.port, session);
  call.write(framedHeaders(''));
  call.write(responseEnd);
  return call.grpcStatus;
}

test('20,000 pings as fast as they are answered, without any call, do no harm', async () => {
  const { session, goaways, pingMany } = await pingingSession(50);
  await pingMany(20_000);
  expect(await served(session)).toBe('0');
  expect(goaways).toEqual([]);
  expect(picker.counters.get('session_errors')).toBe(0);
  session.destroy();
});

test('pings beside calls hinder neither', async () => {
  const { session, goaways, pingMany } = await pingingSession(50);
  const long = await rawCall(picker.port, session);
  long.write(framedHeaders('long'));
  const pinged = pingMany(5_000);
  for (let i = 0; i < 200; i++) expect(await served(session)).toBe('0');
  await pinged;
  long.write(responseEnd);
  expect(await long.grpcStatus).toBe('0');
  expect(goaways).toEqual([]);
  session.destroy();
});

test('500 pings in one packet are all answered', async () => {
  const { socket, answers } = await rawSocket();
  socket.resume();
  socket.write(Buffer.concat(Array.from({ length: 500 }, () => ping)));
  await waitUntil(() => answers() >= 500, { what: 'all answers' });
  expect(socket.closed).toBe(false);
  socket.destroy();
});

test('a peer that pings without end and reads no answer is cut off, and only that one', async () => {
  const { session, goaways } = await pingingSession(1);
  const { socket } = await rawSocket();
  socket.pause();
  const flood = Buffer.concat(Array.from({ length: 10_000 }, () => ping));
  await waitUntil(() => picker.server.openSessions === 2, { what: 'both sessions' });
  const more = (): void => {
    while (socket.writable && socket.write(flood));
    if (socket.writable) socket.once('drain', more);
  };
  more();
  await waitUntil(() => picker.server.openSessions === 1, { what: 'the end of the flood' });
  expect(await served(session)).toBe('0');
  expect(goaways).toEqual([]);
  socket.destroy();
  session.destroy();
});

test.skipIf(!requireEnvoy())(
  'an Envoy that pings all the time loses no request to a drain',
  async () => {
    const engine = await startUpstream();
    picker.scheduler.destinations = [engine.address];
    let answer = (): void => {};
    engine.respond = (_, response) => {
      response.write('first ');
      answer = () => response.end('last');
    };
    const gateway = await startGateway({
      bootstrap: 'original-dst',
      pickers: [picker.port],
      plaintext: true,
      edit: (text) =>
        text.replace(
          /( *)initial_connection_window_size: 16777216/,
          '$&\n$1connection_keepalive: { interval: 0.02s, timeout: 5s }',
        ),
    });
    const response = await fetch(`${gateway.url}/v1/completions`, { method: 'POST', body: '{}' });
    expect(picker.scheduler.open.size).toBe(1);
    const drained = picker.server.drain(0, 20_000);
    // Its pings go on: before it has read the farewell, and after.
    const begin = performance.now();
    await waitUntil(() => performance.now() - begin > 300, { what: 'some more pings' });
    answer();
    expect([response.status, await response.text()]).toEqual([200, 'first last']);
    await drained;
    expect(picker.scheduler.released.map(({ outcome }) => outcome.aborted)).toEqual([false]);
    await gateway.stop();
    await engine.stop();
  },
);

async function rawSocket(): Promise<{ socket: Socket; answers: () => number }> {
  const socket = connect(picker.port, '127.0.0.1');
  socket.on('error', () => {});
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(preface);
  return { socket, answers: () => Math.floor(bytes / ping.length) };
}
