/** The whole way without a broker: sender, collector service, and the collector of a picker. */
import { grpcSink } from '@leadsman/link';
import { createLogger, readConfig } from '@leadsman/service';
import { SharedMemory } from '@leadsman/service/processes/shared-memory';
import { waitUntil } from '@leadsman/testing';
import { createView, feedState } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { afterEach, expect, test } from 'vitest';
import { attributesRecord, reportRecord, SampleSender } from '../sample-frame.ts';
import { collectorConfigShape } from '../service/config.ts';
import { startCollector } from '../service/start-collector.ts';
import { startEmbeddedCollector } from './start-embedded-collector.ts';

const logger = createLogger({ name: 'test', level: 'silent' });
const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function startReplica() {
  const argv = ['--admin-host', '127.0.0.1', '--grpc-host', '127.0.0.1'];
  const env = { LEADSMAN_ADMIN_PORT: '0', LEADSMAN_GRPC_PORT: '0' };
  const config = readConfig(collectorConfigShape, { argv, env, name: 'collector' });
  const service = await startCollector(config, logger);
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  stops.push(stop);
  return { ...service, stop };
}

async function isWatched({ adminAddress }: { adminAddress: string }): Promise<boolean> {
  const page = await (await fetch(`http://${adminAddress}/metrics`)).text();
  return /^leadsman_collector_watchers 1$/m.test(page);
}

test('a picker sees through its collectors, and through the other when one ends', async () => {
  const replicas = await Promise.all([startReplica(), startReplica()]);
  const targets = replicas.map((replica) => replica.grpcAddress);
  const sink = grpcSink({ targets });
  stops.push(() => sink.close());
  const sender = new SampleSender();
  let seq = 0;
  const timer = setInterval(() => {
    seq++;
    sink.send(sender.frame([reportRecord({ seq }), attributesRecord({ podName: 'engine-0' })]));
  }, 50);
  stops.push(async () => clearInterval(timer));

  const memory = SharedMemory.create('test');
  stops.push(async () => memory.close());
  const view = createView({ slotsMax: 16 }, memory.allocate);
  const reader = new ViewReader(view);
  const collector = startEmbeddedCollector({
    memory,
    view,
    feed: { name: 'picker', remote: { targets, intervalMs: 20 } },
    logLevel: 'silent',
    logger,
    random: () => 0,
  });
  stops.push(() => collector.stop());
  const key = podKeyText(podKeyFromUid('pod-a'));
  const seen = () => {
    reader.refresh();
    const slot = reader.slotOf(key, 8000);
    return slot < 0 ? 0 : reader.seq(slot);
  };
  await waitUntil(() => seen() > 0 && reader.feed === feedState.synced, {
    what: 'the remote view',
    deadlineMs: 30_000,
  });
  expect(reader.attributes(reader.slotOf(key, 8000))?.podName).toBe('engine-0');

  // Either may have been whole first.
  const watched = (await isWatched(replicas[0]!)) ? 0 : 1;
  await replicas[watched]!.stop();
  const before = seen();
  await waitUntil(() => seen() > before + 5, { what: 'news by the other', deadlineMs: 30_000 });
  await waitUntil(() => (collector.snapshot?.remote?.failovers ?? 0) >= 1, { what: 'a count' });
});
