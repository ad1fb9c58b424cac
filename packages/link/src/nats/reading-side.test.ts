/** What is done with a connection's bytes before the library sees them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '@leadsman/service/certificate';
import { launchNats, requireNats, waitUntil } from '@leadsman/testing';
import { headers, NatsConnectionImpl } from '@nats-io/transport-node';
import { NodeTransport } from '@nats-io/transport-node/lib/node_transport.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeNatsServer } from './fixture/fake-server.ts';
import { connectNats, type NatsLink } from './link.ts';
import type { NatsOptions } from './options.ts';
import { dial } from './reading-side.ts';

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

interface CertificateFiles {
  ca: string;
  cert: string;
  key: string;
}

async function certificate(): Promise<CertificateFiles> {
  const made = await makeCertificate({
    name: 'server',
    dnsNames: ['localhost'],
    nowMs: Date.now(),
    validMs: 3_600_000,
  });
  const fileOf = (part: 'ca' | 'cert' | 'key') => join(folder, `${part}.pem`);
  for (const part of ['ca', 'cert', 'key'] as const) await writeFile(fileOf(part), made[part]);
  return { ca: fileOf('ca'), cert: fileOf('cert'), key: fileOf('key') };
}

async function launch(files: CertificateFiles | undefined) {
  const config =
    files === undefined ? '' : `tls { cert_file: "${files.cert}", key_file: "${files.key}" }`;
  const server = await launchNats({ config });
  cleanUps.push(() => server.stop());
  return server;
}

/** What this file relies on inside the client library: a new version of it is looked at first. */
describe('the client library', () => {
  it('has the members that are overridden or used', () => {
    const transport = new NodeTransport();
    expect(transport.yields).toEqual([]);
    expect(typeof transport.signal.resolve).toBe('function');
    for (const name of ['connect', 'dial', 'discard', 'isEncrypted', 'setupHandlers'] as const) {
      expect(Object.hasOwn(NodeTransport.prototype, name), name).toBe(true);
    }
    expect(typeof NatsConnectionImpl.connect).toBe('function');
  });

  it.skipIf(!requireNats()).each(['plain', 'TLS'])(
    'sees no message that came by %s, and all else',
    async (kind) => {
      const secured = kind === 'TLS';
      const files = secured ? await certificate() : undefined;
      const server = await launch(files);
      const got: string[] = [];
      const attempt = dial({
        servers: [secured ? `localhost:${server.ports.client}` : server.url],
        reconnect: false,
        ...(files === undefined ? {} : { tls: { caFile: files.ca } }),
        onMessage: (_, subject) => got.push(Buffer.from(subject).toString('latin1')),
      });
      const connection = await attempt.connection;
      cleanUps.push(() => connection.close());
      let seenByLibrary = 0;
      connection.subscribe('a', { callback: () => void seenByLibrary++ });
      // Answered by the library: its own lines reach it.
      await connection.flush();
      connection.publish('a', 'x');
      await connection.flush();
      expect([got, seenByLibrary]).toEqual([['a'], 0]);
      const withHeaders = headers();
      withHeaders.set('k', 'v');
      connection.publish('a', 'x', { headers: withHeaders });
      await connection.flush();
      expect([got, seenByLibrary]).toEqual([['a'], 1]);
    },
  );
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

it.skipIf(!requireNats())('two links that connect at once get each its own', async () => {
  const server = await launch(undefined);
  const links = [1, 2].map((i) => connectNats({ servers: [server.url], name: `test ${i}` }));
  for (const link of links) cleanUps.push(() => link.close());
  const got = [0, 0];
  for (const [i, link] of links.entries()) {
    link.subscribe(`to.${i}`, () => {
      got[i] = (got[i] ?? 0) + 1;
    });
  }
  await waitUntil(
    () => {
      for (const i of [0, 1]) links[0]?.publish(`to.${i}`, Uint8Array.of(i));
      return got.every((count) => count > 0);
    },
    { what: 'messages to both' },
  );
});

describe('a connection that ends', () => {
  async function servedLink() {
    const server = new FakeNatsServer();
    const url = await server.listen();
    cleanUps.push(() => server.stop());
    const link = await connect({ servers: [url], bounds: { retryFirstMs: 5 } });
    const got: number[] = [];
    link.subscribe('a', (bytes) => got.push(bytes[0] as number));
    await waitUntil(() => server.lines.some((line) => line.startsWith('SUB a')), {
      what: 'the subscription',
    });
    return { server, link, got };
  }

  it('has what came before the end taken in, and is made again', async () => {
    const { server, link, got } = await servedLink();
    for (const text of ['1', '2']) server.message('a', 1, text);
    for (const socket of server.sockets) socket.end();
    await waitUntil(() => link.counters.reconnects === 1, { what: 'another connection' });
    expect(got).toEqual([...'12'].map((digit) => digit.charCodeAt(0)));
  });

  it('by a reset is made again', async () => {
    const { server, link } = await servedLink();
    for (const socket of server.sockets) socket.resetAndDestroy();
    await waitUntil(() => link.counters.reconnects === 1, { what: 'another connection' });
  });

  it('by our own close stays ended', async () => {
    const { server, link } = await servedLink();
    await link.close();
    await waitUntil(() => server.sockets.size === 0, { what: 'the end of the socket' });
    expect(link.connected).toBe(false);
    expect(server.accepted).toBe(1);
  });
});
