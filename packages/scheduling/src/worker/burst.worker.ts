/** One of the threads of burst.threads.test.ts: picks its part of the burst, all else being equal. */
import { parentPort, workerData } from 'node:worker_threads';
import { createRig, endpointsOf, type RigMemory } from '../fixture/scheduler-rig.ts';

export interface BurstTask {
  shared: RigMemory;
  /** Threads that are ready. */
  gate: Int32Array;
  worker: number;
  strategy: string;
  endpoints: number;
  requests: number;
}

const burstMs = 20;
const task = workerData as BurstTask;
const { shared, gate, worker } = task;
const endpoints = endpointsOf(task.endpoints);
const rig = await createRig({
  config: `default: { strategy: ${task.strategy} }`,
  endpoints,
  shared,
  worker,
  seed: worker + 1,
});
for (const endpoint of endpoints) {
  rig.gauges.report(endpoint, {
    measuredAtMs: 0,
    runningRequests: 0,
    waitingRequests: 0,
    kvCacheUsageRatio: 0,
    kvCacheCapacityTokens: 400_000,
  });
}
rig.scheduler.tick(0);
// All begin at the same moment, when the last one is ready.
if (Atomics.add(gate, 0, 1) + 1 < shared.workers) Atomics.wait(gate, 1, 0);
else {
  Atomics.store(gate, 1, 1);
  Atomics.notify(gate, 1);
}
const picks: number[] = [];
for (let i = 0; i < task.requests; i++) {
  const nowMs = (burstMs * i) / task.requests;
  picks.push(rig.pick({ nowMs, promptTokens: 500 }).endpoint!.index);
}
parentPort!.postMessage(picks);
