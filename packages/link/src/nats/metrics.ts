/** Metrics of a NATS link, read from its counters when a scrape asks. */
import { Gauge, type Registry } from 'prom-client';
import { registerCounted } from '../counted-metrics.ts';
import type { NatsCounters } from './counters.ts';
import type { NatsLink } from './link.ts';

const counters: readonly [keyof NatsCounters, string, string][] = [
  ['connects', 'connects_total', 'Connections made.'],
  ['reconnects', 'reconnects_total', 'Connections made after the first.'],
  ['disconnects', 'disconnects_total', 'Connections that ended.'],
  ['connectErrors', 'connect_errors_total', 'Attempts that failed, credentials left out.'],
  ['authErrors', 'auth_errors_total', 'Credentials refused, expired or unreadable.'],
  ['permissionErrors', 'permission_errors_total', 'Subjects refused to this user.'],
  ['published', 'published_messages_total', 'Messages given to the server.'],
  ['publishedBytes', 'published_bytes_total', 'Their payload bytes.'],
  ['received', 'received_messages_total', 'Messages received.'],
  ['receivedBytes', 'received_bytes_total', 'Their payload bytes.'],
  ['handlerErrors', 'handler_errors_total', 'Messages whose handler failed.'],
];

const drops: readonly [keyof NatsCounters, string][] = [
  ['droppedOffline', 'offline'],
  ['droppedStalled', 'stalled'],
  ['droppedTooLarge', 'too_large'],
  ['droppedLate', 'late'],
];

/** Registers `leadsman_<process>_nats_…`. */
export function registerNatsMetrics(registry: Registry, process: string, link: NatsLink): void {
  const owner = `${process}_nats`;
  const registers = [registry];
  registerCounted(registry, {
    owner,
    counters,
    drops,
    dropsHelp: 'Messages dropped, by why.',
    read: (key) => link.counters[key],
  });
  new Gauge({
    name: `leadsman_${owner}_connected`,
    help: '1 while there is a connection.',
    registers,
    collect() {
      this.set(link.connected ? 1 : 0);
    },
  });
  new Gauge({
    name: `leadsman_${owner}_round_trip_seconds`,
    help: 'Round trip of the latest ping; NaN before the first.',
    registers,
    collect() {
      this.set(link.roundTripMs / 1_000);
    },
  });
}
