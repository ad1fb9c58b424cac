import { connect } from '@nats-io/transport-node';
import { afterEach, describe, expect, it } from 'vitest';
import { waitUntil } from '../process/wait-until.ts';
import { launchNats, type NatsServer } from './nats.ts';
import { requireNats } from './required.ts';

const servers: NatsServer[] = [];

async function launch(...args: Parameters<typeof launchNats>): Promise<NatsServer> {
  const server = await launchNats(...args);
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe.skipIf(!requireNats())('launchNats', () => {
  it('accepts a client, states its version, and frees its port when stopped', async () => {
    const server = await launch();
    const client = await connect({ servers: server.url });
    expect(client.info?.version).toBe(server.version);
    await client.close();
    await server.stop();
    await expect(connect({ servers: server.url, reconnect: false })).rejects.toThrow();
  });

  it('comes back on the port it had', async () => {
    const first = await launch();
    first.kill();
    await first.process.exited;
    const second = await launch({ port: first.ports.client });
    expect(second.url).toBe(first.url);
  });

  it('takes a configuration', async () => {
    const server = await launch({ config: 'max_payload: 4096' });
    expect((await server.monitor('/varz')).max_payload).toBe(4096);
  });

  it('joins a cluster', async () => {
    const first = await launch({ cluster: { name: 'pair', routes: [] } });
    const routes = [`nats://127.0.0.1:${first.ports.cluster}`];
    await launch({ cluster: { name: 'pair', routes } });
    const joined = await waitUntil(
      async () => Number((await first.monitor('/routez')).num_routes) > 0,
      { what: 'a route between the servers' },
    );
    expect(joined).toBe(true);
  });

  it('rejects with what the server said when it cannot start', async () => {
    await expect(launchNats({ config: 'max_payload: {' })).rejects.toThrow(/ended/);
  });
});
