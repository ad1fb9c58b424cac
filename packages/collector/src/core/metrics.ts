/**
 * A collector's own metrics, read from its snapshot when a scrape asks: the same names whether the
 * collector is a service or a process of a picker. Label values come from fixed lists only, so the
 * number of series does not depend on the fleet.
 */

import { registerReadCounters } from '@leadsman/service';
import type { CounterEntry } from '@leadsman/service/counter-list';
import { feedState } from '@leadsman/view/layout';
import { wireErrorCode } from '@leadsman/wire';
import { Counter, Gauge, type Registry } from 'prom-client';
import { ingestCounterList } from '../ingest/counters.ts';
import type { CollectorSnapshot } from './collector-core.ts';

type IngestKey = keyof typeof ingestCounterList;

const entries = Object.entries(ingestCounterList) as [IngestKey, CounterEntry][];
const plain = entries.filter(([, [, , result]]) => result === undefined);
/** What became of reports: one metric. */
const reports = entries.filter(([, [, , result]]) => result !== undefined);

const owner = 'collector';

/** Registers `leadsman_collector_…`; nothing is shown while `snapshot` gives `undefined`. */
export function registerCollectorMetrics(
  registry: Registry,
  snapshot: () => CollectorSnapshot | undefined,
): void {
  const registers = [registry];
  registerReadCounters(
    registry,
    owner,
    plain.map(([key, [name, help]]) => [name, help, () => snapshot()?.ingest[key] ?? 0] as const),
  );
  new Counter({
    name: 'leadsman_collector_reports_total',
    help: 'Reports received, by what became of them.',
    labelNames: ['result'],
    registers,
    collect() {
      this.reset();
      for (const [key, [, , result = '']] of reports) {
        this.inc({ result }, snapshot()?.ingest[key] ?? 0);
      }
    },
  });
  new Counter({
    name: 'leadsman_collector_frames_bad_total',
    help: 'Frames refused whole, by reason.',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const reason of Object.values(wireErrorCode)) {
        this.inc({ reason }, snapshot()?.ingest.badFrames[reason] ?? 0);
      }
    },
  });
  registerLinkCounters(registry, snapshot);
  registerGauges(registry, snapshot);
}

function registerGauges(registry: Registry, snapshot: () => CollectorSnapshot | undefined): void {
  const gauges: readonly [string, string, (of: CollectorSnapshot) => number][] = [
    ['endpoints', 'Endpoints in the view.', (of) => of.endpoints],
    ['endpoints_max', 'Endpoints the view has room for.', (of) => of.endpointsMax],
    ['senders', 'Senders heard within a minute.', (of) => of.senders],
    [
      'notes',
      'Endpoints remembered outside the view: left, or not yet reported.',
      (of) => of.notes,
    ],
    ['torn_slots', 'Slots emptied when this collector took the view over.', (of) => of.tornSlots],
    ['feed_synced', '1 while the feed is whole.', (of) => Number(of.feed === feedState.synced)],
    ['direct_streams', 'Senders connected directly.', (of) => of.direct?.streams ?? 0],
    ['nats_connected', '1 while connected to NATS.', (of) => Number(of.nats?.connected ?? false)],
    ['remote_connected', '1 while watching a collector.', (of) => Number(!!of.remote?.connected)],
  ];
  for (const [name, help, read] of gauges) {
    new Gauge({
      name: `leadsman_${owner}_${name}`,
      help,
      registers: [registry],
      collect() {
        const now = snapshot();
        if (now === undefined) this.remove();
        else this.set(read(now));
      },
    });
  }
}

function registerLinkCounters(registry: Registry, snapshot: () => CollectorSnapshot | undefined) {
  const counters: readonly [string, string, (of: CollectorSnapshot) => number | undefined][] = [
    ['nats_reconnects_total', 'Connections after the first.', (of) => of.nats?.counters.reconnects],
    ['nats_disconnects_total', 'Connections that ended.', (of) => of.nats?.counters.disconnects],
    [
      'nats_connect_errors_total',
      'Attempts that failed, credentials left out.',
      (of) => of.nats?.counters.connectErrors,
    ],
    [
      'nats_permission_errors_total',
      'Subjects refused to this user.',
      (of) => of.nats?.counters.permissionErrors,
    ],
    ['nats_auth_errors_total', 'Refused credentials.', (of) => of.nats?.counters.authErrors],
    [
      'nats_dropped_late_total',
      'Messages that waited too long.',
      (of) => of.nats?.counters.droppedLate,
    ],
    [
      'direct_streams_refused_total',
      'Senders beyond the bound.',
      (of) => of.direct?.refusedStreams,
    ],
    [
      'direct_tokens_refused_total',
      'Calls without a token that is believed.',
      (of) => of.direct?.refusedTokens,
    ],
    ['direct_streams_failed_total', 'Streams that broke off.', (of) => of.direct?.failedStreams],
    ['remote_failovers_total', 'Watched collectors that ended.', (of) => of.remote?.failovers],
    ['remote_connect_errors_total', 'Collectors not reached.', (of) => of.remote?.connectErrors],
  ];
  registerReadCounters(
    registry,
    owner,
    counters.map(([name, help, read]) => {
      const value = () => {
        const now = snapshot();
        return (now && read(now)) ?? 0;
      };
      return [name, help, value] as const;
    }),
  );
}
