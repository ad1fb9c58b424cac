/**
 * Entry of a worker process: the ext_proc server, the scheduler behind it, and the messages by
 * which the main process keeps both current. A request is served here from begin to end.
 *
 * Workers share ports and memory, and nothing else: one that dies or hangs takes the exchanges with
 * it that were open in it.
 */
import { Counters } from '@leadsman/ext-proc/counters';
import { HealthState } from '@leadsman/ext-proc/health/health-state';
import { SharedRequests } from '@leadsman/ext-proc/in-flight/shared-requests';
import { type ExtProcServer, startExtProcServer } from '@leadsman/ext-proc/server/server';
import { systemRandom } from '@leadsman/scheduling/random';
import { InFlightTable } from '@leadsman/scheduling/shared/in-flight-table';
import { WorkerScheduling } from '@leadsman/scheduling/worker/worker-scheduling';
import { createLogger } from '@leadsman/service/log';
import { monotonicMs } from '@leadsman/service/monotonic';
import { startHeartbeat } from '@leadsman/service/processes/heartbeat';
import { connectToParent, endOnFault } from '@leadsman/service/processes/parent';
import { ViewReader } from '@leadsman/view/reader';
import { CountedScheduler } from './workers/counted-scheduler.ts';
import type { FromWorker, ToWorker, WorkerStart } from './workers/messages.ts';
import { openPickerMemory } from './workers/picker-memory.ts';

const parent = await connectToParent<WorkerStart, ToWorker, FromWorker>();
const { worker, extProc, config, logLevel } = parent.start;
process.title = `leadsman-picker-worker-${worker}`;
const memory = openPickerMemory(parent.start.memory, parent.memory.allocate);
const logger = createLogger({ name: `picker-${worker}`, level: logLevel });
endOnFault(logger);
const post = (message: FromWorker): void => parent.post(message);
const health = new HealthState();
const authorities = new Map<string, readonly string[]>();

const scheduling = await WorkerScheduling.open({
  worker,
  source: new ViewReader(memory.view),
  inFlight: new InFlightTable(memory.inFlight, memory.inFlightShape, worker),
  memory: memory.scheduling,
  config,
  random: systemRandom(),
  clock: monotonicMs,
  post,
});
const server = await startExtProcServer(extProc, {
  sharedRequests: new SharedRequests(memory.requests, worker),
  scheduler: new CountedScheduler(scheduling.scheduler, memory.picks),
  health,
  counters: new Counters(memory.counters[worker]),
  logger,
  nowMs: monotonicMs,
});
startHeartbeat(memory.heartbeats[worker]!);
parent.receive((message) => receive(message, server));
post({ type: 'listening', ports: server.ports });

function receive(message: ToWorker, extProc: ExtProcServer): void {
  switch (message.type) {
    case 'pools':
      setPools(message, extProc);
      break;
    case 'identity':
      extProc.setIdentity(message.identity);
      break;
    case 'ready':
      health.setSynced(message.ready);
      break;
    case 'drain':
      extProc.drain(message.noticeMs, message.graceMs).then(
        () => post({ type: 'drained' }),
        (error: unknown) => {
          logger.error({ err: error }, 'drain failed');
          post({ type: 'drained' });
        },
      );
      break;
    case 'scheduling':
      void scheduling.configure(message.version, message.config);
      break;
    case 'scheduling-snapshot':
      post({ type: 'scheduling-snapshot', snapshot: scheduling.snapshot() });
      break;
  }
}

function setPools(change: Extract<ToWorker, { type: 'pools' }>, extProc: ExtProcServer): void {
  const nowMs = monotonicMs();
  for (const update of change.updates) {
    authorities.set(update.pool, update.authorities);
    scheduling.scheduler.updatePool(update, nowMs);
  }
  for (const pool of change.removed) {
    authorities.delete(pool);
    scheduling.scheduler.removePool(pool);
  }
  extProc.setPools([...authorities].map(([name, names]) => ({ name, authorities: names })));
}
