/** One of the two servers in a process of its own, which tells its CPU time when asked. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Counters } from '@leadsman/ext-proc/counters';
import { HealthState } from '@leadsman/ext-proc/health/health-state';
import { extProcOptions, startExtProcServer } from '@leadsman/ext-proc/server/server';
import { monotonicMs } from '@leadsman/service';
import { startGrpcJsServer } from './grpc-js-server.ts';
import { BenchScheduler } from './pick-among.ts';

async function startPicker(): Promise<number> {
  const listen = { host: '127.0.0.1', port: 0, reusePort: false };
  const server = await startExtProcServer(extProcOptions(listen, undefined), {
    scheduler: new BenchScheduler(),
    health: new HealthState(),
    counters: new Counters(),
    nowMs: monotonicMs,
  });
  server.setPools([{ name: 'ns/pool', authorities: [] }]);
  return server.ports[0]!;
}

const port = await (process.argv[2] === 'leadsman' ? startPicker() : startGrpcJsServer());
const loopDelay = monitorEventLoopDelay({ resolution: 5 });
loopDelay.enable();
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuUs: user + system, loopDelayMaxMs: loopDelay.max / 1e6 });
  loopDelay.reset();
});
process.on('disconnect', () => process.exit(0));
process.send?.({ port });
