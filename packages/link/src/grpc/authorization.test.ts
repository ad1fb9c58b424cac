/** Who is served on the direct listener when it asks for tokens. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '@leadsman/service/certificate';
import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fileAuthorizer } from './bearer.ts';
import { type FeedServer, grpcFrameServer } from './feed-server.ts';
import { type GrpcSink, grpcSink } from './push-sink.ts';

let folder: string;
let port: number;
let server: FeedServer;
const cleanUps: (() => Promise<unknown>)[] = [];
const file = (name: string) => join(folder, name);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-token-'));
  const made = await makeCertificate({
    name: 'server',
    dnsNames: ['localhost'],
    nowMs: Date.now(),
    validMs: 3_600_000,
  });
  for (const part of ['ca', 'cert', 'key'] as const) await writeFile(file(part), made[part]);
  await writeFile(file('expected'), 'the token\n');
  server = grpcFrameServer({
    host: '127.0.0.1',
    port: 0,
    tls: { certFile: file('cert'), keyFile: file('key') },
    authorize: fileAuthorizer(file('expected')),
    graceMs: 100,
  });
  server.start(() => undefined);
  port = await server.listen();
  cleanUps.push(() => server.close());
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  await rm(folder, { recursive: true });
});

function sinkWith(tokenFile: string | undefined): GrpcSink {
  const sink = grpcSink({
    targets: [`localhost:${port}`],
    lookupHost: async () => ['127.0.0.1'],
    tls: { caFile: file('ca'), tokenFile },
  });
  cleanUps.push(() => sink.close());
  return sink;
}

it('serves who sends the token, and follows its file', async () => {
  await writeFile(file('sent'), 'another');
  const [without, sender] = [sinkWith(undefined), sinkWith(file('sent'))];
  await waitUntil(() => server.counters.refusedTokens >= 4, { what: 'refusals' });
  expect([without.connected, sender.connected]).toEqual([false, false]);
  await writeFile(file('sent'), 'the token');
  await waitUntil(() => sender.connected, { what: 'a stream' });
  expect(without.connected).toBe(false);
});

it('believes nobody while its own file is away or empty', async () => {
  const believes = fileAuthorizer(file('expected'));
  expect(await believes('the token')).toBe(true);
  expect(await believes('')).toBe(false);
  await writeFile(file('expected'), '\n');
  expect(await believes('')).toBe(false);
  await rm(file('expected'));
  expect(await believes('the token')).toBe(false);
});
