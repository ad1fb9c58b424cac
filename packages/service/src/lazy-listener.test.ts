import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { type LazyListener, listenLazily } from './lazy-listener.ts';

const listeners: LazyListener[] = [];
afterEach(async () => {
  for (const listener of listeners.splice(0)) await listener.close();
});

async function start(load: () => Promise<Server>, errors: unknown[] = []): Promise<LazyListener> {
  const listener = await listenLazily({
    host: '127.0.0.1',
    port: 0,
    load,
    onError: (error) => errors.push(error),
  });
  listeners.push(listener);
  return listener;
}

const urlOf = (listener: LazyListener) =>
  `http://127.0.0.1:${(listener.address as AddressInfo).port}/`;
const ask = async (listener: LazyListener) => (await fetch(urlOf(listener))).text();

it('makes its server at the first connection, once, and answers those that waited', async () => {
  let loads = 0;
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const listener = await start(async () => {
    loads++;
    await gate;
    return createServer((request, reply) => {
      request.resume();
      request.on('end', () => reply.end(`${request.method} answered`));
    });
  });
  expect(listener.loaded).toBe(false);
  const body = 'x'.repeat(300_000);
  const waiting = [
    ask(listener),
    ask(listener),
    fetch(urlOf(listener), { method: 'POST', body }).then((reply) => reply.text()),
  ];
  release();
  expect(await Promise.all(waiting)).toEqual(['GET answered', 'GET answered', 'POST answered']);
  expect(await ask(listener)).toBe('GET answered');
  expect(loads).toBe(1);
  expect(listener.loaded).toBe(true);
});

it('keeps connections alive, those that waited too', async () => {
  const listener = await start(async () => createServer((_, reply) => void reply.end('ok')));
  const socket = connect((listener.address as AddressInfo).port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (data: string) => {
    text += data;
  });
  for (let answers = 1; answers <= 3; answers++) {
    socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await expect.poll(() => text.split('HTTP/1.1 200').length - 1).toBe(answers);
  }
  socket.destroy();
});

it('times out requests of connections that waited, as of others', async () => {
  const listener = await start(async () =>
    createServer({ requestTimeout: 50, headersTimeout: 40, connectionsCheckingInterval: 10 }),
  );
  const socket = connect((listener.address as AddressInfo).port, '127.0.0.1');
  socket.resume().write('GET / HTTP/1.1\r\n');
  await new Promise((resolve) => socket.once('close', resolve));
});

it('tries again at the next connection when loading failed', async () => {
  const errors: unknown[] = [];
  let loads = 0;
  const listener = await start(async () => {
    if (++loads === 1) throw new Error('on purpose');
    return createServer((_, reply) => void reply.end('ok'));
  }, errors);
  await expect(ask(listener)).rejects.toThrow();
  expect(errors).toMatchObject([{ message: 'on purpose' }]);
  expect(await ask(listener)).toBe('ok');
});

it.each([
  ['before', false],
  ['after', true],
])('frees its port and ends connections when closed %s it was asked', async (_, asked) => {
  const listener = await start(async () => createServer((_, reply) => void reply.end('ok')));
  const { port } = listener.address as AddressInfo;
  const socket = asked ? connect(port, '127.0.0.1') : undefined;
  if (asked) expect(await ask(listener)).toBe('ok');
  const ended = socket && new Promise((resolve) => socket.resume().once('close', resolve));
  await listener.close();
  await ended;
  await expect(fetch(urlOf(listener))).rejects.toThrow();
  listeners.length = 0;
});

it('rejects when the port is taken', async () => {
  const listener = await start(async () => createServer());
  const { port } = listener.address as AddressInfo;
  const second = listenLazily({
    host: '127.0.0.1',
    port,
    load: async () => createServer(),
    onError: () => {},
  });
  await expect(second).rejects.toThrow(/EADDRINUSE/);
});
