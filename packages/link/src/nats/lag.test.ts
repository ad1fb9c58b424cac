import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeNatsServer } from './fixture/fake-server.ts';
import { natsSource } from './frames.ts';
import { connectNats, type NatsLink } from './link.ts';
import type { NatsBounds } from './options.ts';

let server: FakeNatsServer;
let url: string;
let nowMs: number;
const links: NatsLink[] = [];

beforeEach(async () => {
  server = new FakeNatsServer();
  url = await server.listen();
  nowMs = 0;
});

afterEach(async () => {
  server.speaks = true;
  server.answerHeldPings();
  await Promise.all(links.splice(0).map((made) => made.close()));
  await server.stop();
});

function connect(bounds: Partial<NatsBounds> = {}): NatsLink {
  const link = connectNats({ servers: [url], name: 't', nowMs: () => nowMs, bounds });
  links.push(link);
  return link;
}

const until = (what: string, probe: () => boolean) => waitUntil(probe, { what });

describe('a NATS link and a server that stalls', () => {
  it('stops publishing when pings stay unanswered, and goes on when they are', async () => {
    const link = connect();
    await until('a connection', () => link.connected);
    server.answersPings = false;
    expect(link.publish('a', Uint8Array.of(1))).toBe(true);
    await until('the ping', () => server.heldPings === 1);
    nowMs = 700;
    expect(link.publish('a', Uint8Array.of(2))).toBe(true);
    nowMs = 800;
    expect(link.publish('a', Uint8Array.of(3))).toBe(false);
    expect(link.counters.droppedStalled).toBe(1);
    server.answersPings = true;
    server.answerHeldPings();
    await until('publishing again', () => link.publish('a', Uint8Array.of(4)));
    await until('the message', () => server.lines.includes('\u0004'));
    expect(server.lines).not.toContain('\u0003');
  });

  it('bounds the bytes under way', async () => {
    const link = connect({ pendingBytesMax: 100 });
    await until('a connection', () => link.connected);
    server.answersPings = false;
    expect(link.publish('a', new Uint8Array(60))).toBe(true);
    expect(link.publish('a', new Uint8Array(60))).toBe(false);
    expect(link.publish('a', new Uint8Array(40))).toBe(true);
    expect(link.publish('a', new Uint8Array(1))).toBe(false);
    await until('the ping', () => server.heldPings === 1);
    server.answersPings = true;
    server.answerHeldPings();
    await until('room again', () => link.publish('a', new Uint8Array(60)));
  });

  it('drops on arrival what waited too long, until it has caught up', async () => {
    const got: string[] = [];
    const link = connect({ pingEveryMs: 5 });
    link.subscribe('a', (bytes) => got.push(new TextDecoder().decode(bytes)));
    await until('the subscription', () => server.lines.includes('SUB a 1'));
    server.message('a', 1, 'one');
    await until('a message', () => got.length === 1);
    server.answersPings = false;
    nowMs = 1_000;
    await until('the ping', () => server.heldPings >= 1);
    server.message('a', 1, 'recent');
    await until('the recent one', () => got.length === 2);
    nowMs = 2_000;
    for (let i = 0; i < 50; i++) server.message('a', 1, `old ${i}`);
    await until('the drops', () => link.counters.droppedLate === 50);
    server.answersPings = true;
    server.answerHeldPings();
    await until('freshness', () => {
      server.message('a', 1, 'new');
      return got.at(-1) === 'new';
    });
    expect(got.slice(0, 3)).toEqual(['one', 'recent', 'new']);
  });

  it('says how long a frame has waited on its way, when that is worth a word', async () => {
    const waited: number[] = [];
    const link = connect({ pingEveryMs: 5 });
    natsSource(link, 'a').start((_, waitedMs) => waited.push(waitedMs));
    await until('the subscription', () => server.lines.includes('SUB a 1'));
    server.answersPings = false;
    nowMs = 1_000;
    await until('the ping', () => server.heldPings >= 1);
    for (const [atMs, expected] of [
      [1_049, 0],
      [1_600, 600],
    ] as const) {
      nowMs = atMs;
      const before = waited.length;
      server.message('a', 1, 'frame');
      await until('the frame', () => waited.length > before);
      expect(waited.at(-1)).toBe(expected);
    }
  });

  it('makes a new connection when the old one is dead', async () => {
    const link = connect({ pingEveryMs: 5 });
    link.subscribe('a', () => undefined);
    await until('a connection', () => link.connected);
    server.answersPings = false;
    nowMs = 1_000;
    await until('the ping', () => server.heldPings >= 1);
    server.answersPings = true;
    nowMs = 7_000;
    await until('another', () => link.counters.reconnects === 1);
    expect(server.mostSockets).toBe(1);
    const subscriptions = () => server.lines.filter((line) => line.startsWith('SUB a')).length;
    await until('the second subscription', () => subscriptions() === 2);
  });

  it('leaves a server that announces its end', async () => {
    const link = connect();
    await until('a connection', () => link.connected);
    server.say(`INFO ${JSON.stringify({ ldm: true, max_payload: 1_048_576 })}`);
    await until('another', () => link.counters.reconnects === 1);
    expect(server.mostSockets).toBe(1);
  });

  it('leaves no socket behind at servers that accept and say nothing', async () => {
    server.speaks = false;
    const link = connect({ connectTimeoutMs: 20, retryFirstMs: 1, retryMaxMs: 2 });
    await until('ten attempts', () => server.accepted >= 10);
    expect(server.mostSockets).toBeLessThanOrEqual(2);
    await until('at most one', () => server.sockets.size <= 1);
    server.speaks = true;
    await until('a connection', () => link.connected);
    await until('one socket', () => server.sockets.size === 1);
  });
});
