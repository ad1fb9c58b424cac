import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { BandSnapshot, PoolSnapshot } from '../shared/messages.ts';
import { registerFlowControlMetrics } from './flow-control-metrics.ts';
import type { SchedulingHub } from './scheduling-hub.ts';
import { WorkerTotals } from './worker-totals.ts';

function band(of: Partial<BandSnapshot>): BandSnapshot {
  return {
    priority: 0,
    requests: 0,
    bytes: 0,
    tokens: 0,
    oldestMs: Number.NaN,
    outcomes: {},
    flows: [],
    ...of,
  };
}

function pool(bands: BandSnapshot[] | undefined, isBlind = false): PoolSnapshot {
  return {
    pool: 'ns/chat',
    strategy: '',
    outcomes: {},
    lastResortPicks: 0,
    foreignReports: 0,
    droppedAdapters: 0,
    fresh: 1,
    stale: 0,
    suspect: 0,
    sleeping: 0,
    unreachable: 0,
    isSaturated: false,
    flowControl: bands && { isBlind, bands },
  };
}

const take = (totals: WorkerTotals, worker: number, one: PoolSnapshot) =>
  totals.take(worker, { pools: [one], openTickets: 0, overflowedTickets: 0 });

async function page(totals: WorkerTotals): Promise<string> {
  const registry = new Registry();
  registerFlowControlMetrics(registry, { totals } as SchedulingHub);
  return registry.metrics();
}

describe('requests that wait in several workers', () => {
  const totals = new WorkerTotals();
  take(
    totals,
    0,
    pool([
      band({
        requests: 2,
        bytes: 10,
        tokens: 5,
        oldestMs: 40,
        outcomes: { dispatched: 7 },
        flows: [{ flow: 'a', requests: 2 }],
      }),
    ]),
  );
  take(
    totals,
    1,
    pool(
      [
        band({ priority: 5, outcomes: { 'rejected-saturated': 2 } }),
        band({
          requests: 4,
          bytes: 20,
          tokens: 6,
          oldestMs: 2_500,
          outcomes: { dispatched: 3 },
          flows: [
            { flow: 'b', requests: 3 },
            { flow: 'a', requests: 1 },
          ],
        }),
      ],
      true,
    ),
  );

  it('are added up by band and flow, the highest band first', () => {
    const waiting = totals.waiting('ns/chat')!;
    expect(waiting.isBlind).toBe(false);
    expect(waiting.bands.map(({ priority }) => priority)).toEqual([5, 0]);
    expect(waiting.bands[1]).toMatchObject({ requests: 6, bytes: 30, tokens: 11, oldestMs: 2_500 });
    expect(waiting.bands[1]!.flows).toEqual([
      { flow: 'a', requests: 3 },
      { flow: 'b', requests: 3 },
    ]);
    // Adding up leaves what the workers said as it was.
    expect(totals.waiting('ns/chat')).toEqual(waiting);
  });

  it('are on the metrics page', async () => {
    const text = await page(totals);
    for (const line of [
      'leadsman_picker_waiting_requests{pool="ns/chat",priority="0"} 6',
      'leadsman_picker_waiting_tokens{pool="ns/chat",priority="0"} 11',
      'leadsman_picker_waiting_oldest_seconds{pool="ns/chat",priority="0"} 2.5',
      'leadsman_picker_waiting_oldest_seconds{pool="ns/chat",priority="5"} 0',
      'leadsman_picker_waits_total{pool="ns/chat",priority="0",outcome="dispatched"} 10',
      'leadsman_picker_waits_total{pool="ns/chat",priority="5",outcome="rejected-saturated"} 2',
      'leadsman_picker_flow_control_blind{pool="ns/chat"} 0',
    ]) {
      expect(text).toContain(`${line}\n`);
    }
  });

  it('are gone with their worker, but what was counted stays', async () => {
    totals.end(1);
    const text = await page(totals);
    expect(text).toContain('waiting_requests{pool="ns/chat",priority="0"} 2\n');
    expect(text).toContain('priority="0",outcome="dispatched"} 10\n');
    expect(text).toContain('priority="5",outcome="rejected-saturated"} 2\n');
  });
});

describe('a pool without flow control', () => {
  it('has no series', async () => {
    const totals = new WorkerTotals();
    take(totals, 0, pool(undefined));
    expect(totals.waiting('ns/chat')).toBeUndefined();
    expect(await page(totals)).not.toContain('ns/chat');
  });
});
