import { grpcSink } from '@leadsman/link';
import { createLogger } from '@leadsman/service';
import { SharedMemory } from '@leadsman/service/processes/shared-memory';
import { waitUntil } from '@leadsman/testing';
import { createView, feedState, headerWord, ViewMemory } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { beginWrite } from '@leadsman/view/sequence';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { afterEach, expect, test } from 'vitest';
import { reportRecord, SampleSender } from '../sample-frame.ts';
import { startEmbeddedCollector } from './start-embedded-collector.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const keyOf = (uid: string) => podKeyText(podKeyFromUid(uid));

/** A picker's collector process with a direct listener, and a sender that dials it. */
async function setup() {
  const memory = SharedMemory.create('test');
  stops.push(async () => memory.close());
  const view = createView({ slotsMax: 16 }, memory.allocate);
  const reader = new ViewReader(view);
  const listening = Promise.withResolvers<string>();
  const collector = startEmbeddedCollector({
    memory,
    view,
    feed: { name: 'test', direct: { host: '127.0.0.1', port: 0 } },
    logLevel: 'silent',
    logger: createLogger({ name: 'test', level: 'silent' }),
    random: Math.random,
    onListening: (address) => listening.resolve(address),
  });
  stops.push(() => collector.stop());
  const sink = grpcSink({ targets: [await listening.promise] });
  stops.push(() => sink.close());
  const sender = new SampleSender();
  let seq = 0;
  /** Reports all pods again and again until `done`. */
  const reportUntil = (uids: string[], done: () => boolean) =>
    waitUntil(
      () => {
        seq++;
        sink.send(sender.frame(uids.map((uid) => reportRecord({ uid, seq }))));
        reader.refresh();
        return done();
      },
      { what: 'the view to change' },
    );
  return { view, reader, collector, reportUntil };
}

test('frames sent to the process appear in the view of another process', async () => {
  const { reader, collector, reportUntil } = await setup();
  await reportUntil(['pod-a'], () => reader.slotOf(keyOf('pod-a'), 8000) === 0);
  await reportUntil(['pod-a'], () => reader.feed === feedState.synced);
  await waitUntil(() => (collector.snapshot?.ingest.appliedReports ?? 0) > 0, {
    what: 'a snapshot with reports',
  });
});

const deaths = {
  'is killed': (pid: number) => process.kill(pid, 'SIGKILL'),
  'stands still': (pid: number) => process.kill(pid, 'SIGSTOP'),
};

test.each(Object.entries(deaths))(
  'a process that %s in the middle of a write is replaced, and the view goes on',
  async (_, die) => {
    const { view, reader, collector, reportUntil } = await setup();
    await reportUntil(['pod-a', 'pod-b'], () => reader.slotOf(keyOf('pod-b'), 8000) >= 0);
    die(collector.pid!);
    await waitUntil(() => collector.pid === undefined, { what: 'its end to be noticed' });
    // What a writer that died inside of slot 0 leaves behind.
    const memory = new ViewMemory(view);
    beginWrite(memory.sequences, 0);
    const seqOfB = () => reader.seq(reader.slotOf(keyOf('pod-b'), 8000));
    const before = seqOfB();
    expect(before).toBeGreaterThan(0);
    await reportUntil(['pod-a', 'pod-b'], () => {
      const writers = Atomics.load(memory.header, headerWord.writer);
      return writers === 2 && reader.slotOf(keyOf('pod-a'), 8000) >= 0 && seqOfB() > before;
    });
    expect(collector.restarts).toBe(1);
  },
);
