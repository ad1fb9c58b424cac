import { Client, type ClientReadableStream, credentials } from '@grpc/grpc-js';
import { grpcFrameServer, type LookupAll, watchMethod } from '@leadsman/link';
import { createLogger, monotonicMs } from '@leadsman/service';
import { waitUntil } from '@leadsman/testing';
import { createView, feedState } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import type { SampleOptions } from '@leadsman/view/sample-report';
import { ViewWriter } from '@leadsman/view/writer';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { afterEach, expect, test } from 'vitest';
import { FrameIngest } from '../ingest/frame-ingest.ts';
import { attributesRecord, goneRecord, reportRecord, SampleSender } from '../sample-frame.ts';
import { Departures } from './departures.ts';
import { RemoteFeed } from './remote-feed.ts';
import { WatchServer } from './watch-server.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const keyOf = (uid: string) => podKeyText(podKeyFromUid(uid));

/** A view with its ingest and its reader; ticks keep it from believing that it stood still. */
class SampleView {
  readonly shared = createView({ slotsMax: 64 });
  readonly departures = new Departures(64);
  readonly ingest = new FrameIngest({
    writer: new ViewWriter(this.shared),
    nowMs: monotonicMs(),
    departures: this.departures,
  });
  readonly reader = new ViewReader(this.shared);
  readonly sender = new SampleSender();
  readonly #timer = setInterval(
    () => this.ingest.tick(monotonicMs(), feedState.synced),
    100,
  ).unref();

  report(options: SampleOptions) {
    this.ingest.receive(this.sender.frame([reportRecord(options)]), monotonicMs());
  }

  /** The sequence of an endpoint's newest report; 0: unknown. */
  seq(uid = 'pod-a') {
    this.reader.refresh();
    const slot = this.reader.slotOf(keyOf(uid), 8000);
    return slot < 0 ? 0 : this.reader.seq(slot);
  }

  stop() {
    clearInterval(this.#timer);
  }
}

/** A collector replica: its view, served to watchers on a free port. */
async function startReplica() {
  const view = new SampleView();
  const replica = { view, synced: true, address: '', stop: async () => {} };
  const watch = new WatchServer({
    view: view.shared,
    departures: view.departures,
    intervalMs: 10,
    watchersMax: 4,
    synced: () => replica.synced,
    nowMs: monotonicMs,
    sender: () => ({ id: crypto.getRandomValues(new Uint8Array(16)), epoch: 1 }),
  });
  const server = grpcFrameServer({
    host: '127.0.0.1',
    port: 0,
    watch: watch.watch,
    graceMs: 100,
  });
  replica.address = `127.0.0.1:${await server.listen()}`;
  replica.stop = async () => {
    watch.stop();
    view.stop();
    await server.close();
  };
  stops.push(replica.stop);
  return { ...replica, replica, watch };
}

/** A picker's view, fed by watching. */
function watchFrom(targets: string[], random = () => 0, lookupHost?: LookupAll) {
  const view = new SampleView();
  const feed = new RemoteFeed({
    targets,
    name: 'picker',
    intervalMs: 10,
    logger,
    nowMs: monotonicMs,
    random,
    ...(lookupHost && { lookupHost }),
  });
  feed.start((frame) => view.ingest.receive(frame, monotonicMs()));
  stops.push(async () => {
    await feed.close();
    view.stop();
  });
  return { view, feed };
}

const until = (probe: () => boolean, what: string) => waitUntil(probe, { what });

test('a watcher gets all that is known, then what changes and who leaves', async () => {
  const { view, address } = await startReplica();
  view.report({ uid: 'pod-a', seq: 5 });
  view.ingest.receive(view.sender.frame([attributesRecord({ podName: 'engine-7' })]), 1);
  const { view: watched } = watchFrom([address]);
  await until(() => watched.seq() === 5, 'the first keyframe');
  const slot = watched.reader.slotOf(keyOf('pod-a'), 8000);
  await until(() => {
    watched.reader.refresh();
    return watched.reader.attributes(slot)?.podName === 'engine-7';
  }, 'the attributes');
  view.report({ uid: 'pod-a', seq: 6 });
  view.report({ uid: 'pod-b', seq: 1 });
  await until(() => watched.seq() === 6 && watched.seq('pod-b') === 1, 'the changes');
  view.ingest.receive(view.sender.frame([goneRecord({ uid: 'pod-a', seq: 7 })]), monotonicMs());
  await until(() => watched.seq() === 0, 'the withdrawal');
  expect(watched.seq('pod-b')).toBe(1);
});

test('a watcher goes to another replica and its view never goes back', async () => {
  const ahead = await startReplica();
  const behind = await startReplica();
  ahead.view.report({ seq: 50 });
  behind.view.report({ seq: 40 });
  behind.view.report({ uid: 'pod-b', seq: 1 });
  const { view: watched, feed } = watchFrom([ahead.address, behind.address]);
  await until(() => watched.seq() === 50, 'the first replica');
  await ahead.stop();
  await until(() => watched.seq('pod-b') === 1, 'the second replica');
  expect(watched.seq()).toBe(50);
  behind.view.report({ seq: 51 });
  await until(() => watched.seq() === 51, 'news from the second replica');
  expect(feed.counters.failovers).toBe(1);
});

test('what left while a watcher changed replicas leaves with the first frames of the next', async () => {
  const first = await startReplica();
  const second = await startReplica();
  for (const { view } of [first, second]) {
    view.report({ uid: 'pod-a', seq: 5 });
    view.report({ uid: 'pod-b', seq: 5 });
  }
  const { view: watched } = watchFrom([first.address, second.address]);
  await until(() => watched.seq('pod-a') === 5 && watched.seq('pod-b') === 5, 'both endpoints');
  const withdrawal = second.view.sender.frame([goneRecord({ uid: 'pod-a', seq: 6 })]);
  second.view.ingest.receive(withdrawal, monotonicMs());
  await first.stop();
  await until(() => watched.seq('pod-a') === 0, 'the withdrawal');
  expect(watched.seq('pod-b')).toBe(5);
  expect(watched.ingest.counters.expiredEndpoints).toBe(0);
});

test('a replica whose view is not whole is passed over, and left when its feed is lost', async () => {
  const first = await startReplica();
  const second = await startReplica();
  first.replica.synced = false;
  first.view.report({ uid: 'pod-a', seq: 1 });
  second.view.report({ uid: 'pod-b', seq: 1 });
  const { view: watched } = watchFrom([first.address, second.address]);
  await until(() => watched.seq('pod-b') === 1, 'the whole replica');
  expect(watched.seq('pod-a')).toBe(0);
  expect(first.watch.counters.refused).toBeGreaterThan(0);
  first.replica.synced = true;
  second.replica.synced = false;
  await until(() => watched.seq('pod-a') === 1, 'the other replica');
  expect(second.watch.counters.ended).toBe(1);
});

test('names of collectors that lead nowhere are counted, and asked for again', async () => {
  const { view, address } = await startReplica();
  view.report({ seq: 3 });
  const port = address.slice(address.lastIndexOf(':') + 1);
  let lookups = 0;
  const lookupHost = async () => {
    if (lookups++ < 2) throw new Error('no such name');
    return ['127.0.0.1'];
  };
  const { view: watched, feed } = watchFrom([`collector.test:${port}`], () => 0, lookupHost);
  await until(() => watched.seq() === 3, 'the view');
  expect(feed.counters.connectErrors).toBe(2);
});

test('many watchers are served, those beyond the bound are refused', async () => {
  const { view, address, watch } = await startReplica();
  view.report({ seq: 3 });
  const served = [1, 2, 3, 4].map(() => watchFrom([address]).view);
  await until(() => served.every((one) => one.seq() === 3), 'four watchers');
  const fifth = watchFrom([address]);
  await until(() => watch.counters.refused > 0, 'the refusal');
  expect(fifth.view.seq()).toBe(0);
});

test('a collector that falls silent is left for another', async () => {
  const other = await startReplica();
  other.view.report({ uid: 'pod-b', seq: 1 });
  const mute = grpcFrameServer({
    host: '127.0.0.1',
    port: 0,
    watch: (call) => call.write(new SampleSender(7).frame([reportRecord({ seq: 1 })])),
    graceMs: 100,
  });
  const muteAddress = `127.0.0.1:${await mute.listen()}`;
  stops.push(() => mute.close());
  const { view: watched } = watchFrom([muteAddress, other.address]);
  await until(() => watched.seq('pod-a') === 1, 'the frame of the mute one');
  await until(() => watched.seq('pod-b') === 1, 'the frames of the other');
});

test('what waits for a client that stopped reading stays bounded', async () => {
  const { view, address, watch } = await startReplica();
  const client = new Client(address, credentials.createInsecure());
  const call: ClientReadableStream<Uint8Array> = client.makeServerStreamRequest(
    watchMethod.path,
    watchMethod.requestSerialize,
    watchMethod.responseDeserialize,
    { name: 'stopped', intervalMs: 10 },
  );
  call.on('error', () => undefined);
  stops.push(() => {
    call.cancel();
    client.close();
  });
  // It stops after the first frame: beyond its buffer and window nothing can leave the server.
  call.once('data', () => call.pause());
  let seq = 0;
  const pods = Array.from({ length: 60 }, (_, i) => `pod-${i}`);
  const timer = setInterval(() => {
    seq++;
    view.ingest.receive(
      view.sender.frame(pods.map((uid) => reportRecord({ uid, seq }))),
      monotonicMs(),
    );
  }, 5);
  stops.push(() => clearInterval(timer));
  await until(() => watch.counters.lags > 100, 'the server to notice that nothing leaves');
  const stuckBytes = watch.counters.frameBytes;
  const lags = watch.counters.lags;
  await until(() => watch.counters.lags > lags + 100, 'a hundred more ticks');
  expect(watch.counters.frameBytes).toBe(stuckBytes);

  const received = new SampleView();
  stops.push(() => received.stop());
  call.on('data', (frame: Uint8Array) => received.ingest.receive(frame, monotonicMs()));
  call.resume();
  const wanted = seq;
  await until(() => received.seq('pod-59') >= wanted, 'the newest state, once it reads again');
});
