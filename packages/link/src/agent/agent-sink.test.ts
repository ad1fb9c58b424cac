import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { waitUntil } from '@leadsman/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { type AgentSink, type AgentSinkOptions, agentSink } from './agent-sink.ts';
import type { FrameAnswer } from './frame-stream.ts';
import { serveFrameStreams } from './frame-stream-server.ts';

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** An agent that takes frames; what it does is changed by the test. */
class SampleAgent {
  readonly got: number[] = [];
  answer: FrameAnswer = 'accepted';
  url = '';
  readonly sockets = new Set<Socket>();
  readonly server: Server = createServer((_, reply) => reply.writeHead(404).end());

  async listen(): Promise<this> {
    const streams = serveFrameStreams(this.server, {
      frameBytesMax: 65_536,
      take: (frame) => {
        this.got.push(frame[0] ?? -1);
        return this.answer;
      },
    });
    this.server.on('connection', (socket: Socket) => this.sockets.add(socket));
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    cleanUps.push(async () => {
      streams.close();
      this.server.closeAllConnections();
      await new Promise((resolve) => this.server.close(resolve));
    });
    return this;
  }

  /** Reads nothing any more, as a stopped process. */
  hang(hanging: boolean): void {
    for (const socket of this.sockets) hanging ? socket.pause() : socket.resume();
  }
}

const agent = () => new SampleAgent().listen();

function sinkFor(options: AgentSinkOptions): AgentSink {
  const sink = agentSink(options);
  cleanUps.push(() => sink.close());
  return sink;
}

/** Offers frames until one is accepted. */
async function accepted(sink: AgentSink): Promise<void> {
  sink.send(Uint8Array.of(0));
  await waitUntil(() => sink.connected, { what: 'an agent that accepts' });
}

describe('the sink towards the agent', () => {
  it('promises nothing before the agent took a frame, then delivers each in order', async () => {
    const { got, url } = await agent();
    const sink = sinkFor({ url });
    expect(sink.send(Uint8Array.of(1))).toBe(false);
    await waitUntil(() => sink.connected, { what: 'acceptance' });
    // A keyframe of several frames: none replaces another.
    for (const value of [2, 3, 4]) expect(sink.send(Uint8Array.of(value))).toBe(true);
    await waitUntil(() => got.length === 4, { what: 'the frames' });
    expect(got).toEqual([1, 2, 3, 4]);
  });

  it('works in a process that loads nothing else', async () => {
    const { url } = await agent();
    const source = `
      import { agentSink } from ${JSON.stringify(new URL('./agent-sink.ts', import.meta.url).href)};
      const sink = agentSink({ url: ${JSON.stringify(url)}, timeoutMs: 10_000 });
      sink.send(Uint8Array.of(1));
      await sink.close();
      process.stdout.write(String(sink.lastOutcome));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (text) => {
      said += text;
    });
    await once(child, 'close');
    expect(said).toBe('accepted');
  });

  it('sends what was given before it closes', async () => {
    const { got, url } = await agent();
    const sink = agentSink({ url });
    await accepted(sink);
    sink.send(Uint8Array.of(1));
    sink.send(Uint8Array.of(2));
    await sink.close();
    expect(got).toEqual([0, 1, 2]);
  });

  it.each(['forward', 'peer', 'refused'] as const)(
    'is told at once, and gives the frame back, when an agent says %s',
    async (outcome) => {
      const sample = await agent();
      const back: [number | undefined, string][] = [];
      const sink = sinkFor({
        url: sample.url,
        onFailed: (frame, why) => back.push([frame[0], why]),
      });
      await accepted(sink);
      sample.answer = outcome;
      // No answer is asked for this soon after the first.
      sink.send(Uint8Array.of(7));
      await waitUntil(() => back.length > 0, { what: 'the frame back' });
      expect(back).toEqual([[7, outcome]]);
      expect(sink.connected).toBe(false);
      expect(sink.send(Uint8Array.of(8))).toBe(false);
    },
  );

  it('gives the latest frame back to whom a dying agent did not confirm it', async () => {
    const sample = await agent();
    const back: [number | undefined, string][] = [];
    const sink = sinkFor({ url: sample.url, onFailed: (frame, why) => back.push([frame[0], why]) });
    await accepted(sink);
    sink.send(Uint8Array.of(1));
    sink.send(Uint8Array.of(2));
    for (const socket of sample.sockets) socket.destroy();
    await waitUntil(() => back.length > 0, { what: 'the frame back' });
    expect(back).toEqual([[2, 'unreachable']]);
    await waitUntil(() => sink.send(Uint8Array.of(3)), { what: 'another stream' });
  });

  it('notices the return of an agent by the frames it offers', async () => {
    const sample = await agent();
    sample.answer = 'forward';
    let nowMs = 0;
    const sink = sinkFor({ url: sample.url, nowMs: () => nowMs });
    sink.send(Uint8Array.of(1));
    await waitUntil(() => sink.outcomes.forward === 1, { what: 'the first answer' });
    for (let i = 0; i < 10; i++) sink.send(Uint8Array.of(2));
    sample.answer = 'accepted';
    nowMs = 300;
    sink.send(Uint8Array.of(3));
    await waitUntil(() => sink.connected, { what: 'acceptance' });
    expect(sample.got).toEqual([1, 3]);
    expect(sample.sockets.size).toBe(1);
  });

  it('offers frames at any time to an agent that refuses', async () => {
    const sample = await agent();
    sample.answer = 'forward';
    const sink = sinkFor({ url: sample.url, nowMs: () => 0 });
    sink.offer(Uint8Array.of(1));
    sink.offer(Uint8Array.of(2));
    await waitUntil(() => sink.lastOutcome === 'forward', { what: 'the first answer' });
    expect(sink.send(Uint8Array.of(3))).toBe(false);
    sink.offer(Uint8Array.of(4));
    await waitUntil(() => sample.got.length === 2, { what: 'the second frame' });
    // Before there is a stream only the newest waits for it.
    expect(sample.got).toEqual([2, 4]);
  });

  it('says within a fraction of its timeout that an answer is late, and when it came', async () => {
    const sample = await agent();
    const slow: (number | undefined)[] = [];
    let frees = 0;
    const sink = sinkFor({
      url: sample.url,
      timeoutMs: 60_000,
      onSlow: (frame) => slow.push(frame[0]),
      onFree: () => frees++,
    });
    await accepted(sink);
    sample.hang(true);
    sink.send(Uint8Array.of(7));
    await waitUntil(() => sink.slow, { what: 'slowness' });
    expect(slow).toEqual([7]);
    expect(sink.connected).toBe(true);
    expect(sink.send(Uint8Array.of(8))).toBe(true);
    sample.hang(false);
    await waitUntil(() => !sink.slow, { what: 'the answer' });
    expect(frees).toBe(1);
  });

  it('gives up an agent that neither reads nor answers, and queues nothing for it', async () => {
    const sample = await agent();
    let nowMs = 0;
    const back: string[] = [];
    const sink = sinkFor({
      url: sample.url,
      nowMs: () => nowMs,
      onFailed: (_, why) => back.push(why),
    });
    await accepted(sink);
    sample.hang(true);
    nowMs = 300;
    const frame = new Uint8Array(60_000);
    for (let i = 0; i < 10_000 && sink.send(frame); i++);
    expect([sink.busy, sink.outcomes.superseded]).toEqual([true, 1]);
    nowMs = 900;
    await waitUntil(
      () => {
        sink.send(frame);
        return sink.lastOutcome === 'timeout';
      },
      { what: 'the end of the stream' },
    );
    expect(back).toEqual(['timeout']);
    expect(sink.connected).toBe(false);
    await waitUntil(
      () => {
        nowMs += 300;
        sink.send(Uint8Array.of(1));
        return sink.connected;
      },
      { what: 'another stream' },
    );
  });

  it('tells a hanging agent from one that is not there, and one of another kind', async () => {
    const hanging = createTcpServer(() => undefined);
    await new Promise<void>((resolve) => hanging.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => hanging.close());
    const port = (hanging.address() as AddressInfo).port;
    const slow = sinkFor({ url: `http://127.0.0.1:${port}`, timeoutMs: 30 });
    slow.send(Uint8Array.of(1));
    await waitUntil(() => slow.lastOutcome === 'timeout', { what: 'the timeout' });
    const away = sinkFor({ url: 'http://127.0.0.1:1' });
    away.send(Uint8Array.of(1));
    await waitUntil(() => away.lastOutcome === 'unreachable', { what: 'the refusal' });
    const former = createServer((_, reply) => reply.writeHead(404).end());
    await new Promise<void>((resolve) => former.listen(0, '127.0.0.1', resolve));
    cleanUps.push(() => former.close());
    const url = `http://127.0.0.1:${(former.address() as AddressInfo).port}`;
    const without = sinkFor({ url });
    without.send(Uint8Array.of(1));
    await waitUntil(() => without.lastOutcome === 'refused', { what: 'the 404' });
  });
});
