/** What the transport does with a connection's bytes before the library sees them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '@leadsman/service/certificate';
import { launchNats, requireNats, waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeNatsServer } from './fixture/fake-server.ts';
import { connectNats, type NatsLink } from './link.ts';
import type { NatsOptions } from './options.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-transport-'));
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  await rm(folder, { recursive: true });
});

async function connect(options: Omit<NatsOptions, 'name'>): Promise<NatsLink> {
  const link = connectNats({ name: 'test', ...options });
  cleanUps.push(() => link.close());
  await waitUntil(() => link.connected, { what: 'a connection' });
  return link;
}

async function launch(config = '') {
  const server = await launchNats({ config });
  cleanUps.push(() => server.stop());
  return server;
}

/**
 * Publishes messages one by one, each after `other` has got the one before, so that the server
 * sends each by itself. Returns the turns of the event loop in which `link` got them.
 */
async function turnsOfArrival(link: NatsLink, other: NatsLink, count: number): Promise<number[]> {
  let turn = 0;
  let counting = true;
  const next = () => {
    turn++;
    if (counting) setImmediate(next);
  };
  setImmediate(next);
  const turns: number[] = [];
  let gotByOther = 0;
  const ready = new Set<NatsLink>();
  link.subscribe('a', () => turns.push(turn));
  link.subscribe('ready', () => ready.add(link));
  other.subscribe('a', () => gotByOther++);
  other.subscribe('ready', () => ready.add(other));
  await waitUntil(() => other.publish('ready', Uint8Array.of(0)) && ready.size === 2, {
    what: 'the subscriptions',
  });
  for (let i = 0; i < count; i++) {
    const had = gotByOther;
    other.publish('a', Uint8Array.of(i));
    await waitUntil(() => gotByOther > had, { what: 'the message at the other end' });
  }
  await waitUntil(() => turns.length === count, { what: 'all messages' });
  counting = false;
  return turns;
}

describe.skipIf(!requireNats())('a socket that rests between two readings', () => {
  // Far longer than the others need to exchange a message.
  const bounds = { readEveryMs: 500 };
  const awake = { readEveryMs: 0 };
  const messages = 20;

  it('gets in one reading what came meanwhile', async () => {
    const server = await launch();
    const servers = [server.url];
    const link = await connect({ servers, bounds });
    const turns = await turnsOfArrival(link, await connect({ servers, bounds: awake }), messages);
    expect(new Set(turns).size).toBeLessThan(messages / 2);
  });

  it('does so with TLS', async () => {
    const made = await makeCertificate({
      name: 'server',
      dnsNames: ['localhost'],
      nowMs: Date.now(),
      validMs: 3_600_000,
    });
    const fileOf = (part: 'ca' | 'cert' | 'key') => join(folder, `${part}.pem`);
    for (const part of ['ca', 'cert', 'key'] as const) await writeFile(fileOf(part), made[part]);
    const server = await launch(
      `tls { cert_file: "${fileOf('cert')}", key_file: "${fileOf('key')}" }`,
    );
    const servers = [`nats://localhost:${server.ports.client}`];
    const tls = { caFile: fileOf('ca') };
    const link = await connect({ servers, tls, bounds });
    const other = await connect({ servers, tls, bounds: awake });
    const turns = await turnsOfArrival(link, other, messages);
    // The end of a record may come in a reading of its own.
    expect(new Set(turns).size).toBeLessThan(messages / 2);
    // It rests now, and notices all the same that the other side is gone.
    server.kill('SIGKILL');
    await waitUntil(() => link.counters.disconnects === 1, { what: 'the end' });
  });
});

describe('the bytes of a connection', () => {
  it('that no server sends end it, and another is made', async () => {
    const server = new FakeNatsServer();
    const url = await server.listen();
    cleanUps.push(() => server.stop());
    const link = await connect({ servers: [url], bounds: { retryFirstMs: 5 } });
    server.say('MSG a 1 99999999999');
    await waitUntil(() => link.counters.reconnects === 1, { what: 'another connection' });
    expect(server.mostSockets).toBe(1);
  });
});

describe('a connection that ends while its socket rests', () => {
  // Longer than all that happens here in between.
  const bounds = { readEveryMs: 300, retryFirstMs: 5 };

  async function restingLink() {
    const server = new FakeNatsServer();
    const url = await server.listen();
    cleanUps.push(() => server.stop());
    const link = await connect({ servers: [url], bounds });
    const got: number[] = [];
    link.subscribe('a', (bytes) => got.push(bytes[0] as number));
    await waitUntil(() => server.lines.some((line) => line.startsWith('SUB a')), {
      what: 'the subscription',
    });
    const say = (text: string) => server.message('a', 1, text);
    say('1');
    await waitUntil(() => got.length === 1, { what: 'a message, after which it rests' });
    return { server, link, got, say };
  }

  it('has what came before the end taken in, and is made again', async () => {
    const { server, link, got, say } = await restingLink();
    say('2');
    for (const socket of server.sockets) socket.end();
    await waitUntil(() => link.counters.reconnects === 1, { what: 'another connection' });
    expect(got).toEqual([...'12'].map((digit) => digit.charCodeAt(0)));
  });

  it('by a reset is made again', async () => {
    const { server, link } = await restingLink();
    for (const socket of server.sockets) socket.resetAndDestroy();
    await waitUntil(() => link.counters.reconnects === 1, { what: 'another connection' });
  });

  it('by our own close stays ended', async () => {
    const { server, link } = await restingLink();
    await link.close();
    await waitUntil(() => server.sockets.size === 0, { what: 'the end of the socket' });
    expect(link.connected).toBe(false);
    expect(server.accepted).toBe(1);
  });
});
