/** A picker's ext_proc server in this process, on a free port of 127.0.0.1, with a fake scheduler. */
import { Counters } from '@leadsman/ext-proc/counters';
import { HealthState } from '@leadsman/ext-proc/health/health-state';
import type { SharedRequests } from '@leadsman/ext-proc/in-flight/shared-requests';
import {
  type ExtProcOptions,
  type ExtProcServer,
  extProcOptions,
  startExtProcServer,
} from '@leadsman/ext-proc/server/server';
import { monotonicMs } from '@leadsman/service';
import { type ClientOptions, ProtocolClient } from './client.ts';
import { FakeScheduler } from './fake-scheduler.ts';

export interface PickerUnderTest {
  readonly port: number;
  readonly server: ExtProcServer;
  readonly scheduler: FakeScheduler;
  readonly counters: Counters;
  readonly health: HealthState;
  /** What the picker logged of its exchanges. */
  readonly logged: Record<string, unknown>[];
  client(options?: Partial<ClientOptions>): ProtocolClient;
  stop(): Promise<void>;
}

/**
 * Starts it with one pool, `ns/pool`, synced. `adjust` may change the options before;
 * `sharedRequests` makes it one of several workers.
 */
export async function startPickerUnderTest(
  adjust: (options: ExtProcOptions) => void = () => {},
  sharedRequests?: SharedRequests,
): Promise<PickerUnderTest> {
  const options = extProcOptions({ host: '127.0.0.1', port: 0, reusePort: false }, undefined);
  adjust(options);
  const scheduler = new FakeScheduler();
  const counters = new Counters();
  const health = new HealthState();
  const logged: Record<string, unknown>[] = [];
  const log = (fields: object, message: string): void => {
    logged.push({ ...fields, message });
  };
  health.setSynced(true);
  const server = await startExtProcServer(options, {
    scheduler,
    health,
    counters,
    logger: { warn: log, error: log },
    nowMs: monotonicMs,
    ...(sharedRequests && { sharedRequests }),
  });
  server.setPools([{ name: 'ns/pool', authorities: ['epp.ns'] }]);
  const port = server.ports[0]!;
  const clients: ProtocolClient[] = [];
  return {
    port,
    server,
    scheduler,
    counters,
    health,
    logged,
    client(clientOptions = {}) {
      const client = new ProtocolClient({ port, ...clientOptions });
      clients.push(client);
      return client;
    },
    async stop() {
      for (const client of clients) client.close();
      await server.close();
    },
  };
}
