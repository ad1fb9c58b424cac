/**
 * Entry of an ext_proc thread: the server, the scheduler behind it, and the messages by which the
 * main thread keeps both current. A request is served here from begin to end.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { Counters } from '@leadsman/ext-proc/counters';
import { HealthState } from '@leadsman/ext-proc/health/health-state';
import { SharedRequests } from '@leadsman/ext-proc/in-flight/shared-requests';
import { type ExtProcServer, startExtProcServer } from '@leadsman/ext-proc/server/server';
import { systemRandom } from '@leadsman/scheduling/random';
import { InFlightTable } from '@leadsman/scheduling/shared/in-flight-table';
import { WorkerScheduling } from '@leadsman/scheduling/worker/worker-scheduling';
import { createLogger, monotonicMs } from '@leadsman/service';
import { ViewReader } from '@leadsman/view/reader';
import { CountedScheduler } from './workers/counted-scheduler.ts';
import type { FromWorker, ToWorker, WorkerData } from './workers/messages.ts';

const port = parentPort;
if (port === null) throw new Error('worker.ts runs as a thread of the picker only');
const data = workerData as WorkerData;
const { shared, worker } = data;
const logger = createLogger({ name: `picker-${worker}`, level: data.logLevel });
const post = (message: FromWorker): void => port.postMessage(message);
const health = new HealthState();
const authorities = new Map<string, readonly string[]>();

/** Messages that come while the server still starts wait in the thread's port, in order. */
const scheduling = await WorkerScheduling.open({
  worker,
  source: new ViewReader(shared.view),
  inFlight: new InFlightTable(shared.inFlight, shared.inFlightShape, worker),
  memory: shared.scheduling,
  config: data.config,
  random: systemRandom(),
  clock: monotonicMs,
  post,
});
const server = await startExtProcServer(data.extProc, {
  sharedRequests: new SharedRequests(shared.requests, worker),
  scheduler: new CountedScheduler(scheduling.scheduler, shared.picks),
  health,
  counters: new Counters(shared.counters[worker]),
  logger,
  nowMs: monotonicMs,
});
port.on('message', (message: ToWorker) => receive(message, server));
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
