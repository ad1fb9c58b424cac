import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitUntil } from '@leadsman/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { type AgentSink, type AgentSinkOptions, agentSink } from './agent-sink.ts';

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

type Handler = (body: Buffer, reply: ServerResponse, request: IncomingMessage) => void;

async function agent(handler: Handler): Promise<{ url: string; server: Server }> {
  const server = createServer((request, reply) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => handler(Buffer.concat(chunks), reply, request));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

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
  it('promises nothing before the agent took a frame, then delivers each', async () => {
    const got: number[] = [];
    const { url } = await agent((body, reply) => {
      got.push(body[0] ?? -1);
      reply.writeHead(204).end();
    });
    const sink = sinkFor({ url });
    expect(sink.send(Uint8Array.of(1))).toBe(false);
    await waitUntil(() => sink.connected, { what: 'acceptance' });
    expect(sink.send(Uint8Array.of(2))).toBe(true);
    await waitUntil(() => got.length === 2, { what: 'two frames' });
    expect(got).toEqual([1, 2]);
  });

  it('works in a process that loads nothing else', async () => {
    const { url } = await agent((_, reply) => reply.writeHead(204).end());
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

  it('keeps one POST under way and the newest frame behind it', async () => {
    const got: number[] = [];
    let held: ServerResponse | undefined;
    const { url } = await agent((body, reply) => {
      got.push(body[0] ?? -1);
      if (body[0] === 1) held = reply;
      else reply.writeHead(204).end();
    });
    const sink = sinkFor({ url, timeoutMs: 5_000 });
    await accepted(sink);
    for (const value of [1, 2, 3, 4]) expect(sink.send(Uint8Array.of(value))).toBe(true);
    await waitUntil(() => held !== undefined, { what: 'the held POST' });
    held?.writeHead(204).end();
    await waitUntil(() => got.length === 3, { what: 'the newest frame' });
    expect(got).toEqual([0, 1, 4]);
    expect(sink.outcomes.superseded).toBe(2);
  });

  it('sends what waits before it closes', async () => {
    const got: number[] = [];
    const { url } = await agent((body, reply) => {
      got.push(body[0] ?? -1);
      reply.writeHead(204).end();
    });
    const sink = agentSink({ url });
    await accepted(sink);
    sink.send(Uint8Array.of(1));
    sink.send(Uint8Array.of(2));
    await sink.close();
    expect(got).toEqual([0, 1, 2]);
  });

  it.each([
    [503, 'forward'],
    [403, 'peer'],
    [400, 'refused'],
  ] as const)('gives a frame back that was answered %i', async (status, outcome) => {
    let answer = 204;
    const { url } = await agent((_, reply) => reply.writeHead(answer).end('{}'));
    const back: [number | undefined, string][] = [];
    const sink = sinkFor({ url, onFailed: (frame, why) => back.push([frame[0], why]) });
    await accepted(sink);
    answer = status;
    sink.send(Uint8Array.of(7));
    await waitUntil(() => back.length > 0, { what: 'the frame back' });
    expect(back).toEqual([[7, outcome]]);
    expect(sink.connected).toBe(false);
    expect(sink.send(Uint8Array.of(8))).toBe(false);
  });

  it('notices the return of an agent by the frames it offers', async () => {
    const first = await agent((_, reply) => reply.writeHead(503).end());
    let nowMs = 0;
    let answer = 503;
    first.server.removeAllListeners('request');
    let posts = 0;
    first.server.on('request', (request: IncomingMessage, reply: ServerResponse) => {
      posts++;
      request.resume();
      request.on('end', () => reply.writeHead(answer).end());
    });
    const sink = sinkFor({ url: first.url, nowMs: () => nowMs });
    sink.send(Uint8Array.of(1));
    await waitUntil(() => sink.outcomes.forward === 1, { what: 'the first answer' });
    for (let i = 0; i < 10; i++) sink.send(Uint8Array.of(2));
    expect(posts).toBe(1);
    answer = 204;
    nowMs = 300;
    sink.send(Uint8Array.of(3));
    await waitUntil(() => sink.connected, { what: 'acceptance' });
    expect(posts).toBe(2);
  });

  it('says within a fraction of its timeout that an answer is late, and when it came', async () => {
    const held: ServerResponse[] = [];
    let hanging = false;
    const { url } = await agent((_, reply) => {
      if (hanging) held.push(reply);
      else reply.writeHead(204).end();
    });
    const slow: (number | undefined)[] = [];
    const sink = sinkFor({ url, timeoutMs: 60_000, onSlow: (frame) => slow.push(frame[0]) });
    await accepted(sink);
    hanging = true;
    sink.send(Uint8Array.of(7));
    await waitUntil(() => sink.slow, { what: 'slowness' });
    expect(slow).toEqual([7]);
    expect(sink.connected).toBe(true);
    await waitUntil(() => held.length === 1, { what: 'the POST' });
    held[0]?.writeHead(204).end();
    await waitUntil(() => !sink.busy, { what: 'the answer' });
    expect(sink.slow).toBe(false);
  });

  it('offers frames at any time to an agent that refuses, and one at a time', async () => {
    const got: number[] = [];
    const { url } = await agent((body, reply) => {
      got.push(body[0] ?? -1);
      reply.writeHead(503).end();
    });
    const sink = sinkFor({ url, nowMs: () => 0 });
    sink.offer(Uint8Array.of(1));
    sink.offer(Uint8Array.of(2));
    await waitUntil(() => sink.lastOutcome === 'forward', { what: 'the first answer' });
    expect(sink.send(Uint8Array.of(3))).toBe(false);
    sink.offer(Uint8Array.of(4));
    await waitUntil(() => sink.outcomes.forward === 2, { what: 'the second answer' });
    expect(got).toEqual([1, 4]);
  });

  it('tells a hanging agent from one that is not there', async () => {
    const hanging = await agent(() => undefined);
    const slow = sinkFor({ url: hanging.url, timeoutMs: 30 });
    slow.send(Uint8Array.of(1));
    await waitUntil(() => slow.lastOutcome === 'timeout', { what: 'the timeout' });
    const away = sinkFor({ url: 'http://127.0.0.1:1' });
    away.send(Uint8Array.of(1));
    await waitUntil(() => away.lastOutcome === 'unreachable', { what: 'the refusal' });
  });

  it('loses nothing to an agent that closes idle connections', async () => {
    const { url, server } = await agent((_, reply) => reply.writeHead(204).end());
    const sink = sinkFor({ url });
    await accepted(sink);
    for (let i = 1; i <= 30; i++) {
      server.closeIdleConnections();
      sink.send(Uint8Array.of(i));
      await waitUntil(() => sink.outcomes.accepted === i + 1, { what: `frame ${i}` });
    }
    expect(sink.outcomes.unreachable).toBe(0);
  });
});
