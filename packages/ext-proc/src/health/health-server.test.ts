import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterEach, describe, expect, test } from 'vitest';
import { Counters } from '../counters.ts';
import { extProcOptions, startExtProcServer } from '../server/server.ts';
import { startHealthServer } from './health-server.ts';
import { extProcService, HealthState, healthServices } from './health-state.ts';

interface Status {
  status: string;
}
interface HealthClient extends grpc.Client {
  Check(request: object, callback: (error: grpc.ServiceError | null, reply: Status) => void): void;
  List(
    request: object,
    callback: (
      error: grpc.ServiceError | null,
      reply: { statuses: Record<string, Status> },
    ) => void,
  ): void;
  Watch(request: object): grpc.ClientReadableStream<Status>;
}

const definition = loadSync(fileURLToPath(new URL('../../proto/health.proto', import.meta.url)), {
  enums: String,
  defaults: true,
});
const { grpc: loaded } = grpc.loadPackageDefinition(definition) as unknown as {
  grpc: { health: { v1: { Health: new (...args: unknown[]) => HealthClient } } };
};

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Both places at which health is answered, behind one state. */
const places = {
  async 'its own port'(health: HealthState): Promise<number> {
    const server = await startHealthServer({ host: '127.0.0.1', port: 0 }, health);
    cleanups.push(() => server.stop());
    return server.port;
  },
  async 'the ext_proc port'(health: HealthState): Promise<number> {
    const options = extProcOptions({ host: '127.0.0.1', port: 0, reusePort: false }, undefined);
    const scheduler = {
      admit: () => undefined,
      endWaits() {},
      pick() {},
      servedBy: () => undefined,
      firstToken() {},
      withdraw() {},
      upstreamFailed() {},
      release() {},
    };
    const counters = new Counters();
    const server = await startExtProcServer(options, {
      scheduler,
      health,
      counters,
      nowMs: () => performance.now(),
    });
    cleanups.push(() => server.close());
    return server.ports[0]!;
  },
};

describe.each(Object.entries(places))('health on %s', (_, start) => {
  async function open(health: HealthState): Promise<HealthClient> {
    const port = await start(health);
    const credentials = grpc.credentials.createInsecure();
    const client = new loaded.health.v1.Health(`127.0.0.1:${port}`, credentials);
    cleanups.push(() => client.close());
    return client;
  }
  function check(client: HealthClient, service: string): Promise<string> {
    return new Promise((resolve) => {
      client.Check({ service }, (error, reply) =>
        resolve(error === null ? reply.status : grpc.status[error.code]!),
      );
    });
  }

  test('is NOT_SERVING until synced and again while draining; liveness always serves', async () => {
    const health = new HealthState();
    const client = await open(health);
    expect(await check(client, extProcService)).toBe('NOT_SERVING');
    expect(await check(client, 'readiness')).toBe('NOT_SERVING');
    expect(await check(client, 'liveness')).toBe('SERVING');
    health.setSynced(true);
    for (const service of healthServices) expect(await check(client, service)).toBe('SERVING');
    health.startDraining();
    expect(await check(client, '')).toBe('NOT_SERVING');
    expect(await check(client, 'liveness')).toBe('SERVING');
  });

  test('an unknown service is NOT_FOUND', async () => {
    expect(await check(await open(new HealthState()), 'somebody.Else')).toBe('NOT_FOUND');
  });

  test('lists all services', async () => {
    const client = await open(new HealthState());
    const statuses = await new Promise<Record<string, Status>>((resolve, reject) => {
      client.List({}, (error, reply) => (error ? reject(error) : resolve(reply.statuses)));
    });
    expect(Object.keys(statuses).sort()).toEqual([...healthServices].sort());
    expect(statuses.liveness?.status).toBe('SERVING');
    expect(statuses.readiness?.status).toBe('NOT_SERVING');
  });

  test('a watch tells each change once, and unknown services without ending', async () => {
    const health = new HealthState();
    const client = await open(health);
    const seen: string[] = [];
    const watch = client.Watch({ service: 'readiness' });
    const unknown = client.Watch({ service: 'somebody.Else' });
    for (const call of [watch, unknown]) call.on('error', () => {});
    const first = await nextOf(unknown);
    expect(first.status).toBe('SERVICE_UNKNOWN');
    seen.push((await nextOf(watch)).status);
    health.setSynced(true);
    seen.push((await nextOf(watch)).status);
    health.startDraining();
    seen.push((await nextOf(watch)).status);
    expect(seen).toEqual(['NOT_SERVING', 'SERVING', 'NOT_SERVING']);
    watch.cancel();
    unknown.cancel();
  });
});

function nextOf(call: grpc.ClientReadableStream<Status>): Promise<Status> {
  return new Promise((resolve) => call.once('data', resolve));
}
