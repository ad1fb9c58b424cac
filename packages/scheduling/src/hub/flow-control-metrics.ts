/** What `/metrics` shows of requests that wait: sums over the workers, by pool and band. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { BandSnapshot } from '../shared/messages.ts';
import type { SchedulingHub } from './scheduling-hub.ts';

const labelNames = ['pool', 'priority'] as const;

/** Registers the metrics; pools without flow control have no series. */
export function registerFlowControlMetrics(registry: Registry, hub: SchedulingHub): void {
  band('waiting_requests', 'Requests that wait for their turn', ({ requests }) => requests);
  band('waiting_bytes', 'Bytes that waiting requests hold', ({ bytes }) => bytes);
  band('waiting_tokens', 'Uncached prompt tokens that wait, as estimated', ({ tokens }) => tokens);
  band('waiting_oldest_seconds', 'How long the oldest request has waited; 0: none', (one) =>
    Number.isNaN(one.oldestMs) ? 0 : one.oldestMs / 1_000,
  );
  const blind = new Gauge({
    name: 'leadsman_picker_flow_control_blind',
    help: '1 while the gate of the pool goes by requests in flight alone, for want of fresh numbers',
    labelNames: ['pool'],
    registers: [registry],
    collect(): void {
      blind.reset();
      for (const pool of pools()) {
        const waiting = hub.totals.waiting(pool);
        if (waiting !== undefined) blind.set({ pool }, waiting.isBlind ? 1 : 0);
      }
    },
  });
  const ended = new Counter({
    name: 'leadsman_picker_waits_total',
    help: 'Ends of waiting by outcome: dispatched, cancelled, draining, or why it was refused',
    labelNames: [...labelNames, 'outcome'],
    registers: [registry],
    collect(): void {
      ended.reset();
      for (const { pool, waits } of hub.totals.pools()) {
        for (const [key, count] of Object.entries(waits)) {
          const at = key.indexOf(' ');
          ended.inc({ pool, priority: key.slice(0, at), outcome: key.slice(at + 1) }, count);
        }
      }
    },
  });

  function band(name: string, help: string, read: (band: BandSnapshot) => number): void {
    const gauge = new Gauge({
      name: `leadsman_picker_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect(): void {
        gauge.reset();
        for (const pool of pools()) {
          for (const one of hub.totals.waiting(pool)?.bands ?? []) {
            gauge.set({ pool, priority: one.priority }, read(one));
          }
        }
      },
    });
  }

  function pools(): Set<string> {
    const names = new Set<string>();
    for (const { pools: own } of hub.totals.live.values()) {
      for (const { pool } of own) names.add(pool);
    }
    return names;
  }
}
