import { EventEmitter } from 'node:events';
import type { WatchCall } from '@leadsman/link';
import { monotonicMs } from '@leadsman/service';
import { waitUntil } from '@leadsman/testing';
import { createView } from '@leadsman/view/layout';
import { ViewWriter } from '@leadsman/view/writer';
import { afterEach, expect, test } from 'vitest';
import { Departures } from './departures.ts';
import { WatchServer } from './watch-server.ts';

class SampleCall extends EventEmitter {
  readonly request = { name: 'picker', intervalMs: 10 };
  readonly writableLength = 0;
  frames = 0;

  constructor() {
    super();
    this.on('error', () => undefined);
  }

  write(): boolean {
    this.frames++;
    return true;
  }
}

let server: WatchServer;
afterEach(() => server.stop());

function setup() {
  const view = createView({ slotsMax: 8 });
  new ViewWriter(view);
  server = new WatchServer({
    view,
    departures: new Departures(8),
    intervalMs: 10,
    watchersMax: 4,
    synced: () => true,
    nowMs: monotonicMs,
    sender: () => ({ id: new Uint8Array(16).fill(1), epoch: 1 }),
  });
  return () => {
    const call = new SampleCall();
    server.watch(call as unknown as WatchCall);
    return call;
  };
}

test('the late end of a former watcher does not silence those that came after it', async () => {
  const watch = setup();
  const former = watch();
  former.emit('cancelled', 'cancelled');
  expect(server.watchers).toBe(0);
  const present = watch();
  former.emit('close');
  expect(server.watchers).toBe(1);
  await waitUntil(() => present.frames > 0, { what: 'frames for the present watcher' });
});

test('watchers that were sent away do not silence those that come back', async () => {
  const watch = setup();
  const former = [watch(), watch()];
  server.stop();
  const present = watch();
  for (const call of former) call.emit('close');
  expect([server.watchers, server.counters.ended]).toEqual([1, 2]);
  await waitUntil(() => present.frames > 0, { what: 'frames for the present watcher' });
});
