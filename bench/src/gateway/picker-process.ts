/** One ext_proc worker whose picks all go to the same address, in a process of its own. */
import { Counters } from '@leadsman/ext-proc/counters';
import { HealthState } from '@leadsman/ext-proc/health/health-state';
import { extProcOptions, startExtProcServer } from '@leadsman/ext-proc/server/server';
import type { PickResult, RequestFacts } from '@leadsman/scheduling/scheduler';
import { monotonicMs } from '@leadsman/service';

const destination = process.argv[2] ?? '';
let tickets = 0;
const scheduler = {
  admit: () => undefined,
  endWaits() {},
  pick(_: RequestFacts, into: PickResult): void {
    into.status = 'picked';
    into.destination = destination;
    into.ticket = tickets++;
  },
  servedBy(): undefined {},
  firstToken(): void {},
  withdraw(): void {},
  upstreamFailed(): void {},
  release(): void {},
};
const health = new HealthState();
health.setSynced(true);
const listen = { host: '127.0.0.1', port: 0, reusePort: false };
const server = await startExtProcServer(extProcOptions(listen, undefined), {
  scheduler,
  health,
  counters: new Counters(),
  nowMs: monotonicMs,
});
server.setPools([{ name: 'ns/pool', authorities: [] }]);
process.on('disconnect', () => process.exit(0));
process.send?.({ port: server.ports[0] });
