/**
 * What one stopped reader does to the others, with the server configuration that we ship.
 */
import { readFile } from 'node:fs/promises';
import { connect as connectSocket, type Socket } from 'node:net';
import { launchNats, type NatsServer, requireNats, waitUntil } from '@leadsman/testing';
import { afterEach, expect, it } from 'vitest';
import { connectNats, type NatsLink } from './link.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Our configuration with fixed ports left to the launcher. */
async function shippedConfig(): Promise<string> {
  const file = new URL('../../../../deploy/nats/limits.conf', import.meta.url);
  const text = await readFile(file, 'utf8');
  return text.replace(/^(port|http_port):.*$/gm, '');
}

function link(server: NatsServer): NatsLink {
  const made = connectNats({ servers: [server.url], name: 'test' });
  cleanUps.push(() => made.close());
  return made;
}

/** A reader as a stopped process looks to the server: subscribed, and not reading. */
async function stoppedReader(server: NatsServer, subject: string): Promise<Socket> {
  const socket = connectSocket(server.ports.client, '127.0.0.1');
  cleanUps.push(() => socket.destroy());
  await new Promise((resolve) => socket.once('data', resolve));
  socket.write(`CONNECT {"verbose":false}\r\nSUB ${subject} 1\r\nPING\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  return socket;
}

it.skipIf(!requireNats())('is cut off, while the others get everything in order', async () => {
  const server = await launchNats({ config: await shippedConfig() });
  cleanUps.push(() => server.stop());
  const reader = link(server);
  const sender = link(server);
  let next = 0;
  let wentBack = 0;
  reader.subscribe('frames', (bytes) => {
    const value = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
    if (value < next) wentBack++;
    next = value + 1;
  });
  await waitUntil(() => reader.connected && sender.connected, { what: 'connections' });
  await stoppedReader(server, 'frames');
  await waitUntil(async () => Number((await server.monitor('/varz')).subscriptions) >= 2, {
    what: 'both subscriptions',
  });
  const frame = new Uint8Array(200_000);
  let sent = 0;
  let mostBehind = 0;
  await waitUntil(
    async () => {
      new DataView(frame.buffer).setUint32(0, sent);
      if (sender.publish('frames', frame)) sent++;
      mostBehind = Math.max(mostBehind, sent - next);
      return Number((await server.monitor('/varz')).slow_consumers) > 0;
    },
    { what: 'the end of the stopped reader', intervalMs: 5, deadlineMs: 20_000 },
  );
  await waitUntil(() => next === sent, { what: 'the rest' });
  expect(wentBack).toBe(0);
  expect(reader.counters.reconnects + sender.counters.reconnects).toBe(0);
  // Never more than the few frames that are under way.
  expect(mostBehind).toBeLessThan(100);
});
