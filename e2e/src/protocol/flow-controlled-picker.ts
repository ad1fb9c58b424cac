/** A picker's ext_proc server in this process, with the real scheduler and flow control. */
import { Counters } from '@leadsman/ext-proc/counters';
import { HealthState } from '@leadsman/ext-proc/health/health-state';
import {
  type ExtProcServer,
  extProcOptions,
  startExtProcServer,
} from '@leadsman/ext-proc/server/server';
import type { Endpoint } from '@leadsman/scheduling/endpoint';
import {
  createRig,
  endpointsOf,
  poolName,
  poolUpdate,
} from '@leadsman/scheduling/fixture/scheduler-rig';
import { monotonicMs } from '@leadsman/service';

export interface FlowControlledPicker {
  readonly port: number;
  readonly server: ExtProcServer;
  /** Requests that wait for their turn. */
  waiting(): number;
  /** Requests in flight at engines. */
  open(): number;
  /** The pool has these engines from now on. */
  setEngines(ports: readonly number[]): void;
  stop(): Promise<void>;
}

/** `flowControl` as in the strategy file; engines are ports of 127.0.0.1. */
export async function startFlowControlledPicker(
  flowControl: object,
  engines: readonly number[],
  priorities: Record<string, number> = {},
  heldBytesMax?: number,
): Promise<FlowControlledPicker> {
  const config = JSON.stringify({
    default: { flowControl },
    priority: { values: priorities },
  });
  const rig = await createRig({
    config,
    endpoints: endpointsAt(engines),
    nowMs: monotonicMs(),
  });
  const health = new HealthState();
  health.setSynced(true);
  const options = extProcOptions({ host: '127.0.0.1', port: 0, reusePort: false }, undefined);
  if (heldBytesMax !== undefined) options.heldBytesMax = heldBytesMax;
  const server = await startExtProcServer(options, {
    scheduler: rig.scheduler,
    health,
    counters: new Counters(),
    nowMs: monotonicMs,
  });
  server.setPools([{ name: poolName, authorities: ['epp.ns'] }]);
  const timer = setInterval(() => rig.scheduler.tick(monotonicMs()), 10);
  let version = 1;
  return {
    port: server.ports[0]!,
    server,
    waiting: () => rig.scheduler.pools.get(poolName)!.flowControl!.queue.requests,
    open: () => rig.scheduler.tickets.open,
    setEngines: (ports) =>
      rig.scheduler.updatePool(poolUpdate(endpointsAt(ports), ++version), monotonicMs()),
    async stop() {
      clearInterval(timer);
      await server.close();
    },
  };
}

function endpointsAt(ports: readonly number[]): Endpoint[] {
  return endpointsOf(ports.length, (index) => ({
    address: '127.0.0.1',
    port: ports[index]!,
    destination: `127.0.0.1:${ports[index]!}`,
  }));
}
