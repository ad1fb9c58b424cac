import {
  Client,
  credentials,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
} from '@grpc/grpc-js';
import { waitUntil } from '@leadsman/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { type FeedServer, grpcFrameServer } from './feed-server.ts';
import { feedService, pushMethod } from './feed-service.ts';
import { type GrpcSink, type GrpcSinkOptions, grpcSink } from './push-sink.ts';

const cleanUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function serve(port = 0): Promise<{ server: FeedServer; port: number; got: number[] }> {
  const server = grpcFrameServer({ host: '127.0.0.1', port, graceMs: 100 });
  const got: number[] = [];
  server.start((frame) => got.push(frame[0] ?? -1));
  cleanUps.push(() => server.close());
  return { server, port: await server.listen(), got };
}

function push(options: GrpcSinkOptions): GrpcSink {
  const sink = grpcSink(options);
  cleanUps.push(() => sink.close());
  return sink;
}

const open = (sink: GrpcSink, peers = 1) =>
  waitUntil(() => sink.openPeers === peers, { what: `${peers} open streams` });

describe('the direct transport', () => {
  it('carries frames to every replica behind a name', async () => {
    const first = await serve();
    const sink = push({
      targets: [`collectors.test:${first.port}`],
      lookupHost: async () => ['127.0.0.1', '::1'],
    });
    // Nobody listens at the second address; the first must not care.
    await open(sink);
    expect(sink.peers).toBe(2);
    expect(sink.send(Uint8Array.of(1))).toBe(true);
    expect(sink.send(Uint8Array.of(2))).toBe(true);
    await waitUntil(() => first.got.length === 2, { what: 'two frames' });
    expect(first.got).toEqual([1, 2]);
  });

  it('sends nothing while no collector answers, and keeps nothing for later', async () => {
    const first = await serve();
    const sink = push({ targets: [`127.0.0.1:${first.port}`] });
    await open(sink);
    await first.server.close();
    await waitUntil(() => !sink.connected, { what: 'the end of the stream' });
    for (let i = 0; i < 50; i++) expect(sink.send(Uint8Array.of(i))).toBe(false);
    const second = await serve(first.port);
    await open(sink);
    sink.send(Uint8Array.of(99));
    await waitUntil(() => second.got.length > 0, { what: 'a frame' });
    expect(second.got).toEqual([99]);
    expect(sink.counters.droppedOffline).toBe(50);
    expect(sink.counters.reconnects).toBe(1);
  });

  it('finds replicas that come later', async () => {
    const first = await serve();
    const addresses = ['127.0.0.1'];
    const sink = push({
      targets: [`collectors.test:${first.port}`],
      lookupHost: async () => addresses,
      resolveEveryMs: 10,
    });
    await open(sink);
    const second = grpcFrameServer({ host: '127.0.0.2', port: first.port, graceMs: 100 });
    const got: number[] = [];
    second.start((frame) => got.push(frame[0] ?? -1));
    cleanUps.push(() => second.close());
    await second.listen();
    addresses.push('127.0.0.2');
    await open(sink, 2);
    sink.send(Uint8Array.of(5));
    await waitUntil(() => got.length === 1 && first.got.length === 1, { what: 'both frames' });
  });

  it('stops sending to a receiver that confirms nothing, then makes a new stream', async () => {
    const server = new Server();
    let streams = 0;
    server.addService(feedService, {
      Push: (call: ServerDuplexStream<Uint8Array, number>) => {
        streams++;
        call.write(0);
        call.on('error', () => undefined);
      },
      Watch: () => undefined,
    });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    cleanUps.push(async () => server.forceShutdown());
    let nowMs = 0;
    const sink = push({ targets: [`127.0.0.1:${port}`], nowMs: () => nowMs });
    await open(sink);
    expect(sink.send(Uint8Array.of(1))).toBe(true);
    nowMs = 700;
    expect(sink.send(Uint8Array.of(2))).toBe(true);
    nowMs = 800;
    expect(sink.send(Uint8Array.of(3))).toBe(false);
    expect(sink.counters.droppedStalled).toBe(1);
    nowMs = 6_000;
    await waitUntil(() => streams === 2, { what: 'another stream' });
  });

  it('ends a stream whose bytes are no message, and no other', async () => {
    const { server, port, got } = await serve();
    const good = push({ targets: [`127.0.0.1:${port}`] });
    await open(good);
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    cleanUps.push(async () => client.close());
    const bad = client.makeBidiStreamRequest(
      pushMethod.path,
      (bytes: Uint8Array) => Buffer.from(bytes),
      pushMethod.responseDeserialize,
    );
    const failed = new Promise<Error>((resolve) => bad.on('error', resolve));
    bad.resume();
    bad.write(Uint8Array.of(0x0a, 0x7f));
    expect(await failed).toBeInstanceOf(Error);
    good.send(Uint8Array.of(4));
    await waitUntil(() => got.length === 1, { what: 'the frame of the other' });
    expect(server.streams).toBe(1);
  });

  it('goes on after a frame that its handler refuses', async () => {
    const server = grpcFrameServer({ host: '127.0.0.1', port: 0, graceMs: 100 });
    let frames = 0;
    server.start(() => {
      frames++;
      throw new Error('not taken');
    });
    cleanUps.push(() => server.close());
    const sink = push({ targets: [`127.0.0.1:${await server.listen()}`] });
    await open(sink);
    sink.send(Uint8Array.of(1));
    sink.send(Uint8Array.of(2));
    await waitUntil(() => frames === 2, { what: 'both frames' });
    expect(server.counters.handlerErrors).toBe(2);
  });

  it('has brought the last frame to its collector when it is closed', async () => {
    const { port, got } = await serve();
    const sink = grpcSink({ targets: [`127.0.0.1:${port}`] });
    await open(sink);
    sink.send(Uint8Array.of(1));
    await waitUntil(() => got.length === 1, { what: 'the first frame' });
    sink.send(Uint8Array.of(2));
    await sink.close();
    expect(got).toEqual([1, 2]);
  });

  it('lets go of everything on close', async () => {
    const { server, port } = await serve();
    const sink = grpcSink({ targets: [`127.0.0.1:${port}`] });
    await open(sink);
    await sink.close();
    await waitUntil(() => server.streams === 0, { what: 'the end of the stream' });
    expect(sink.send(Uint8Array.of(1))).toBe(false);
  });
});
