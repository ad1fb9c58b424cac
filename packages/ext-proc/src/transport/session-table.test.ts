import { EventEmitter } from 'node:events';
import type { Http2Session } from 'node:http2';
import { beforeEach, describe, expect, test } from 'vitest';
import { Counters } from '../counters.ts';
import { defaultTransportLimits, sweepIntervalMs } from './limits.ts';
import { SessionTable } from './session-table.ts';

class FakeSession extends EventEmitter {
  destroyed = false;
  readonly socket: { remoteAddress: string };
  constructor(remoteAddress = '10.0.0.1') {
    super();
    this.socket = { remoteAddress };
  }
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

test('an idle connection is closed after some minutes, whatever it answers', () => {
  const { idleConnectionTimeoutMs } = defaultTransportLimits;
  expect(idleConnectionTimeoutMs).toBeLessThanOrEqual(15 * 60_000);
  for (let passed = 0; passed <= idleConnectionTimeoutMs; passed += sweepIntervalMs) {
    expect(session.destroyed).toBe(false);
    pass(sweepIntervalMs);
    for (const answered of session.pings.splice(0)) answered();
  }
  expect([session.destroyed, counters.get('sessions_timed_out')]).toEqual([true, 1]);
});

describe('when all places are taken', () => {
  const add = (address: string) => {
    const added = new FakeSession(address);
    return { added, isIn: table.add(added as unknown as Http2Session) };
  };

  beforeEach(() => {
    table = new SessionTable(
      { ...defaultTransportLimits, connectionsMax: 4 },
      counters,
      () => nowMs,
    );
  });

  test('idle connections of one address keep no other address out', () => {
    const greedy = [1, 2, 3, 4].map(() => {
      nowMs++;
      return add('10.0.0.1').added;
    });
    table.callOpened(greedy[0] as unknown as Http2Session);
    expect(add('10.0.0.2').isIn).toBe(true);
    expect(greedy.map(({ destroyed }) => destroyed)).toEqual([false, true, false, false]);
    expect([table.count, counters.get('sessions_displaced')]).toEqual([4, 1]);
    // The greedy one does not get it back, nor more than the other.
    expect(add('10.0.0.1').isIn).toBe(false);
    expect(add('10.0.0.3').isIn).toBe(true);
    expect(counters.get('sessions_refused')).toBe(1);
  });

  test('connections with calls are left alone', () => {
    for (let i = 0; i < 4; i++) {
      table.callOpened(add('10.0.0.1').added as unknown as Http2Session);
    }
    expect(add('10.0.0.2').isIn).toBe(false);
    expect(table.count).toBe(4);
  });
});
