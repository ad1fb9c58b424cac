import { launchNats, type NatsServer, requireNats, waitUntil } from '@leadsman/testing';
import { connect as connectPlain } from '@nats-io/transport-node';
import { afterEach, describe, expect, it } from 'vitest';
import { connectNats, type NatsLink } from './link.ts';
import type { NatsOptions } from './options.ts';

const servers: NatsServer[] = [];
const links: NatsLink[] = [];

async function launch(...args: Parameters<typeof launchNats>): Promise<NatsServer> {
  const server = await launchNats(...args);
  servers.push(server);
  return server;
}

function link(server: Pick<NatsServer, 'url'>, options: Partial<NatsOptions> = {}): NatsLink {
  const made = connectNats({ servers: [server.url], name: 'test', ...options });
  links.push(made);
  return made;
}

const connected = (made: NatsLink) => waitUntil(() => made.connected, { what: 'a connection' });
const text = (value: string) => new TextEncoder().encode(value);

afterEach(async () => {
  await Promise.all(links.splice(0).map((made) => made.close()));
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe.skipIf(!requireNats())('a NATS link', () => {
  it('carries messages to a subscription made before there was a server', async () => {
    const first = await launch();
    first.kill('SIGKILL');
    await first.process.exited;
    const got: string[] = [];
    const receiver = link(first);
    receiver.subscribe('a.>', (bytes, subject) => {
      got.push(`${subject} ${new TextDecoder().decode(bytes)}`);
    });
    const sender = link(first);
    expect(sender.publish('a.b', text('lost'))).toBe(false);
    await launch({ port: first.ports.client });
    await Promise.all([connected(receiver), connected(sender)]);
    await waitUntil(
      () => {
        sender.publish('a.b', text('new'));
        return got.length > 0;
      },
      { what: 'a message' },
    );
    expect(got[0]).toBe('a.b new');
    expect(sender.counters.droppedOffline).toBe(1);
  });

  it('says in the log why a connection ended', async () => {
    const server = await launch();
    const reasons: unknown[] = [];
    const logger = {
      info: () => undefined,
      error: () => undefined,
      warn: (fields: object) => reasons.push((fields as { reason: unknown }).reason),
    };
    const made = link(server, { logger, bounds: { pingEveryMs: 20, deadMs: 100 } });
    made.subscribe('a', () => undefined);
    await connected(made);
    expect(reasons).toEqual([]);
    server.kill('SIGSTOP');
    await waitUntil(() => reasons.length > 0, { what: 'the line' });
    server.kill('SIGCONT');
    expect(reasons[0]).toBe('no answer to a ping');
    await connected(made);
    const before = reasons.length;
    server.kill('SIGKILL');
    await waitUntil(() => reasons.length > before, { what: 'another line' });
    expect(reasons.slice(before).every((reason) => typeof reason === 'string')).toBe(true);
  });

  it('leaves no connection open that it could not begin with', async () => {
    const server = await launch();
    const made = link(server, { bounds: { retryFirstMs: 5, retryMaxMs: 20 } });
    made.onState((isConnected) => {
      if (isConnected) throw new Error('a fault of a listener');
    });
    await waitUntil(() => made.counters.connectErrors >= 5, { what: 'failed beginnings' });
    expect(made.connected).toBe(false);
    await made.close();
    await waitUntil(async () => (await server.monitor('/connz')).num_connections === 0, {
      what: 'the server to have no connection left',
    });
  });

  it('keeps nothing that was published while the server was away', async () => {
    const first = await launch();
    const sender = link(first);
    const receiver = link(first);
    const got: number[] = [];
    receiver.subscribe('n', (bytes) => got.push(bytes[0] ?? -1));
    await Promise.all([connected(receiver), connected(sender)]);
    first.kill('SIGKILL');
    await first.process.exited;
    await waitUntil(() => !sender.connected && !receiver.connected, { what: 'disconnects' });
    for (let i = 0; i < 20; i++) expect(sender.publish('n', Uint8Array.of(i))).toBe(false);
    await launch({ port: first.ports.client });
    await Promise.all([connected(receiver), connected(sender)]);
    await waitUntil(
      () => {
        sender.publish('n', Uint8Array.of(99));
        return got.length > 0;
      },
      { what: 'a message' },
    );
    expect(new Set(got)).toEqual(new Set([99]));
    expect(sender.counters.droppedOffline).toBe(20);
    expect(sender.counters.reconnects).toBe(1);
  });

  it('learns the largest message of each server it connects to', async () => {
    const first = await launch({ config: 'max_payload: 4096' });
    const sender = link(first);
    await connected(sender);
    expect(sender.maxPayload).toBe(4096);
    expect(sender.publish('a', new Uint8Array(4097))).toBe(false);
    expect(sender.counters.droppedTooLarge).toBe(1);
    first.kill('SIGKILL');
    await first.process.exited;
    await launch({ port: first.ports.client, config: 'max_payload: 8192' });
    await waitUntil(() => sender.maxPayload === 8192, { what: 'the new bound' });
    expect(sender.publish('a', new Uint8Array(8192))).toBe(true);
  });

  it('survives a handler that throws', async () => {
    const server = await launch();
    const receiver = link(server);
    let calls = 0;
    receiver.subscribe('a', () => {
      calls++;
      throw new Error('no');
    });
    await connected(receiver);
    const plain = await connectPlain({ servers: server.url });
    await waitUntil(
      () => {
        plain.publish('a', 'x');
        return calls >= 3;
      },
      { what: 'three calls' },
    );
    await plain.close();
    expect(receiver.connected).toBe(true);
    expect(receiver.counters.handlerErrors).toBeGreaterThanOrEqual(3);
  });

  it('stops asking for what was unsubscribed, also on the next connection', async () => {
    const server = await launch();
    const receiver = link(server);
    await connected(receiver);
    receiver.subscribe('a', () => undefined)();
    receiver.subscribe('b', () => undefined);
    const subscriptions = async () => {
      const connz = await server.monitor('/connz?subs=1');
      const [first] = connz.connections as { subscriptions_list?: string[] }[];
      return first?.subscriptions_list ?? [];
    };
    await waitUntil(async () => (await subscriptions()).includes('b'), { what: 'subscription' });
    expect(await subscriptions()).not.toContain('a');
  });

  it('goes to another server of the cluster when its own ends', async () => {
    const first = await launch({ cluster: { name: 'c', routes: [] } });
    const routes = [`nats://127.0.0.1:${first.ports.cluster}`];
    const second = await launch({ cluster: { name: 'c', routes } });
    const sender = connectNats({
      servers: [first.url, second.url],
      name: 'test',
      random: () => 0.99,
    });
    links.push(sender);
    await connected(sender);
    const states: boolean[] = [];
    sender.onState((state) => states.push(state));
    first.kill('SIGKILL');
    await waitUntil(() => states.length === 2, { what: 'the other server' });
    expect(states).toEqual([false, true]);
    expect((await second.monitor('/connz')).num_connections).toBe(1);
  });

  it('ends at once while no server answers', async () => {
    const away = connectNats({ servers: ['nats://127.0.0.1:1'], name: 'test' });
    await away.close();
    expect(away.connected).toBe(false);
  });
});
