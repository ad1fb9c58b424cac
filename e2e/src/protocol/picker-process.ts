/** A picker in a process of its own: drains on SIGTERM, as the real one does. Args: port, hosts. */
import { Counters } from '@leadsman/ext-proc/counters';
import { HealthState } from '@leadsman/ext-proc/health/health-state';
import { extProcOptions, startExtProcServer } from '@leadsman/ext-proc/server/server';
import { monotonicMs } from '@leadsman/service';
import { FakeScheduler } from './fake-scheduler.ts';

const [port = '0', hosts = ''] = process.argv.slice(2);
const scheduler = new FakeScheduler();
scheduler.destinations = hosts.split(',');
const health = new HealthState();
health.setSynced(true);
const listen = { host: '127.0.0.1', port: Number(port), reusePort: false };
const server = await startExtProcServer(extProcOptions(listen, undefined), {
  scheduler,
  health,
  counters: new Counters(),
  nowMs: monotonicMs,
});
server.setPools([{ name: 'ns/pool', authorities: [] }]);
process.on('SIGTERM', async () => {
  // The bootstraps notice within two health checks; tests make these 100 ms apart.
  await server.drain(1_500, 20_000);
  process.exit(0);
});
process.send?.({ port: server.ports[0] });
