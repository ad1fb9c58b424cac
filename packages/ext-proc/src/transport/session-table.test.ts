import { EventEmitter } from 'node:events';
import type { Http2Session } from 'node:http2';
import { beforeEach, expect, test } from 'vitest';
import { Counters } from '../counters.ts';
import { defaultTransportLimits, sweepIntervalMs } from './limits.ts';
import { SessionTable } from './session-table.ts';

class FakeSession extends EventEmitter {
  destroyed = false;
  readonly pings: (() => void)[] = [];
  ping(answered: () => void): boolean {
    this.pings.push(answered);
    return true;
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

let nowMs: number;
let counters: Counters;
let table: SessionTable;
let session: FakeSession;
beforeEach(() => {
  nowMs = 0;
  counters = new Counters();
  table = new SessionTable(defaultTransportLimits, counters, () => nowMs);
  session = new FakeSession();
  table.add(session as unknown as Http2Session);
  session.emit('remoteSettings');
});

/** Sweeps as often as the timer would in `ms`. */
function pass(ms: number): void {
  for (let passed = 0; passed < ms; passed += sweepIntervalMs) {
    nowMs += sweepIntervalMs;
    table.sweep();
  }
}
const { pingIntervalMs, pingTimeoutMs } = defaultTransportLimits;

test('a peer that answers its pings stays, with calls or without', () => {
  for (let i = 0; i < 10; i++) {
    pass(pingIntervalMs);
    expect(session.pings).toHaveLength(i + 1);
    pass(pingTimeoutMs / 2);
    session.pings[i]!();
    if (i === 5) table.callOpened(session as unknown as Http2Session);
  }
  expect(session.destroyed).toBe(false);
});

test('a peer that answers no more is given up, with its calls', () => {
  table.callOpened(session as unknown as Http2Session);
  pass(pingIntervalMs + pingTimeoutMs);
  expect(session.destroyed).toBe(false);
  pass(2 * sweepIntervalMs);
  expect(session.destroyed).toBe(true);
  expect([counters.get('sessions_dead'), table.count]).toEqual([1, 0]);
});

test('a peer is not blamed for the time that this thread stood still', () => {
  table.callOpened(session as unknown as Http2Session);
  pass(pingIntervalMs);
  nowMs += 3_600_000;
  table.sweep();
  expect(session.destroyed).toBe(false);
});

test('a connection that never became HTTP/2 is not asked, and closed in time', () => {
  const silent = new FakeSession();
  table.add(silent as unknown as Http2Session);
  pass(defaultTransportLimits.handshakeTimeoutMs + sweepIntervalMs);
  expect([silent.destroyed, silent.pings.length]).toEqual([true, 0]);
  expect(counters.get('sessions_timed_out')).toBe(1);
});
