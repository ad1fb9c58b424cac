/** TLS on both transports: the files are read for each connection, so a rotation needs no restart. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '@leadsman/service/certificate';
import { launchNats, requireNats, waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { grpcFrameServer } from './grpc/feed-server.ts';
import { grpcSink } from './grpc/push-sink.ts';
import { connectNats } from './nats/link.ts';

let folder: string;
const cleanUps: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-tls-'));
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  await rm(folder, { recursive: true });
});

async function certificate(name: string) {
  const made = await makeCertificate({
    name,
    dnsNames: ['localhost'],
    nowMs: Date.now(),
    validMs: 3_600_000,
  });
  const files = {
    ca: join(folder, `${name}-ca.pem`),
    cert: join(folder, `${name}.pem`),
    key: join(folder, `${name}-key.pem`),
  };
  for (const part of ['ca', 'cert', 'key'] as const) await writeFile(files[part], made[part]);
  return { made, files };
}

const until = (what: string, probe: () => boolean) => waitUntil(probe, { what });

describe.skipIf(!requireNats())('a NATS link with TLS', () => {
  it('trusts a new CA as soon as its file holds it', async () => {
    const [server, other] = await Promise.all([certificate('server'), certificate('other')]);
    const { cert, key } = server.files;
    const nats = await launchNats({
      config: `tls { cert_file: "${cert}", key_file: "${key}" }`,
    });
    cleanUps.push(() => nats.stop());
    const caFile = join(folder, 'trusted.pem');
    await writeFile(caFile, other.made.ca);
    const link = connectNats({
      servers: [`nats://localhost:${nats.ports.client}`],
      name: 'test',
      tls: { caFile },
      bounds: { retryFirstMs: 5, retryMaxMs: 20 },
    });
    cleanUps.push(() => link.close());
    await until('refusals', () => link.counters.connectErrors >= 3);
    expect(link.connected).toBe(false);
    await writeFile(caFile, server.made.ca);
    await until('a connection', () => link.connected);
  });

  it('carries large messages whole', async () => {
    const server = await certificate('server');
    const { ca: caFile, cert, key } = server.files;
    const nats = await launchNats({
      config: `tls { cert_file: "${cert}", key_file: "${key}" }`,
    });
    cleanUps.push(() => nats.stop());
    const link = connectNats({
      servers: [`nats://localhost:${nats.ports.client}`],
      name: 'test',
      tls: { caFile },
    });
    cleanUps.push(() => link.close());
    const got: number[] = [];
    link.subscribe('a', (bytes) => got.push(bytes.length));
    await until('a connection', () => link.connected);
    const sizes = [900_000, 3, 70_000, 16_384, 1];
    for (const size of sizes) link.publish('a', new Uint8Array(size));
    await until('all of them', () => got.length === sizes.length);
    expect(got).toEqual(sizes);
  });

  it('goes without TLS nowhere when a CA is configured', async () => {
    const server = await certificate('server');
    const nats = await launchNats();
    cleanUps.push(() => nats.stop());
    const link = connectNats({ servers: [nats.url], name: 't', tls: { caFile: server.files.ca } });
    cleanUps.push(() => link.close());
    await until('a refusal', () => link.counters.connectErrors >= 2);
    expect(link.connected).toBe(false);
  });
});

describe('the direct transport with TLS', () => {
  it('serves with a rotated certificate without a restart, and with the good one meanwhile', async () => {
    const [first, second] = await Promise.all([certificate('first'), certificate('second')]);
    const { cert, key } = first.files;
    const errors: string[] = [];
    const collector = grpcFrameServer({
      host: '127.0.0.1',
      port: 0,
      tls: { certFile: cert, keyFile: key },
      graceMs: 100,
      lookEveryMs: 5,
      logger: { info: () => undefined, error: (_, text) => errors.push(text) },
    });
    cleanUps.push(() => collector.close());
    collector.start(() => undefined);
    const port = await collector.listen();
    const trusting = (made: { files: { ca: string } }) => {
      const sink = grpcSink({
        targets: [`localhost:${port}`],
        lookupHost: async () => ['127.0.0.1'],
        tls: { caFile: made.files.ca },
      });
      cleanUps.push(() => sink.close());
      return sink;
    };
    const before = trusting(first);
    await until('a stream', () => before.connected);
    await writeFile(cert, second.made.cert);
    await until('the line', () => errors.length > 0);
    expect(errors).toEqual(['new certificate cannot be used']);
    const meanwhile = trusting(first);
    await until('a stream by the first', () => meanwhile.connected);
    await writeFile(key, second.made.key);
    const after = trusting(second);
    await until('a stream by the second', () => after.connected);
    expect(before.connected).toBe(true);
  });

  it('takes clients of its authority only', async () => {
    const [server, client, other] = await Promise.all([
      certificate('server'),
      certificate('client'),
      certificate('other'),
    ]);
    const collector = grpcFrameServer({
      host: '127.0.0.1',
      port: 0,
      tls: {
        certFile: server.files.cert,
        keyFile: server.files.key,
        caFile: client.files.ca,
      },
      graceMs: 100,
    });
    cleanUps.push(() => collector.close());
    const port = await collector.listen();
    const showing = (pair: { cert: string; key: string } | undefined) => {
      const sink = grpcSink({
        targets: [`localhost:${port}`],
        lookupHost: async () => ['127.0.0.1'],
        tls: { caFile: server.files.ca, certFile: pair?.cert, keyFile: pair?.key },
      });
      cleanUps.push(() => sink.close());
      return sink;
    };
    const [nobody, stranger] = [showing(undefined), showing(other.files)];
    const known = showing(client.files);
    await until('the known one', () => known.connected);
    await until('refusals', () =>
      [nobody, stranger].every(({ counters }) => counters.connectErrors >= 2),
    );
    expect([nobody.connected, stranger.connected]).toEqual([false, false]);
  });

  it('checks the name and the CA of the collector', async () => {
    const [server, other] = await Promise.all([certificate('server'), certificate('other')]);
    const { cert, key } = server.files;
    const collector = grpcFrameServer({
      host: '127.0.0.1',
      port: 0,
      tls: { certFile: cert, keyFile: key },
      graceMs: 100,
    });
    cleanUps.push(() => collector.close());
    const got: number[] = [];
    collector.start((frame) => got.push(frame[0] ?? -1));
    const port = await collector.listen();
    const caFile = join(folder, 'trusted.pem');
    await writeFile(caFile, other.made.ca);
    const sink = grpcSink({
      targets: [`localhost:${port}`],
      lookupHost: async () => ['127.0.0.1'],
      tls: { caFile },
    });
    cleanUps.push(() => sink.close());
    await until('refusals', () => sink.counters.connectErrors >= 2);
    await writeFile(caFile, server.made.ca);
    await until('a stream', () => sink.connected);
    sink.send(Uint8Array.of(7));
    await until('the frame', () => got.length === 1);
  });
});
