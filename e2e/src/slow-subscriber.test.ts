/**
 * A subscriber of the frames that stands still must not hold up the others: a collector is stopped
 * (SIGSTOP) while far more is published than the sockets between can buffer.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  launchService,
  Rig,
  requireEnvoy,
  requireNats,
  type ServiceProcess,
  waitUntil,
} from '@leadsman/testing';
import { nodeFramesSubject } from '@leadsman/wire';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { viewOf, waitForCompleteView } from './view.ts';

const ready = [requireEnvoy(), requireNats()].every(Boolean);

/** Junk is as good as frames here: it goes the same way and is counted as bad at its end. */
const junkBytes = 20_480;
const junkIntervalMs = 4;
/** 25 MB: several times what the kernel buffers for one connection. */
const junkMessages = 1_250;

describe.skipIf(!ready)('a stopped subscriber', () => {
  let rig: Rig;
  let stopped: ServiceProcess;

  beforeAll(async () => {
    rig = await Rig.start({
      nodes: 1,
      podsPerNode: 2,
      subnet: 23,
      natsConfig: 'write_deadline: "1s"',
      pickerFlags: { workers: 1 },
    });
    await waitForCompleteView(rig, rig.picker!.adminUrl);
    stopped = await launchService({
      service: 'collector',
      name: 'collector',
      flags: {
        'nats-url': rig.nats!.url,
        'admin-host': '127.0.0.1',
        'admin-port': 0,
        'grpc-host': '127.0.0.1',
        'grpc-port': 0,
      },
      listeners: ['admin'],
    });
  }, 120_000);

  afterAll(async () => {
    await stopped?.stop();
    await rig?.stop();
  });

  it('does not hold up the view of another', async () => {
    const publisher = await connect({ servers: rig.nats!.url });
    const subject = nodeFramesSubject('leadsman', 'noisy-node');
    const junk = new Uint8Array(junkBytes).fill(1);
    stopped.process.kill('SIGSTOP');
    let news = 0;
    for (let sent = 0; sent < junkMessages; sent++) {
      publisher.publish(subject, junk);
      await delay(junkIntervalMs);
      if (sent % 250 === 249) news += await measuredFromNowOn(rig.picker!.adminUrl);
    }
    await publisher.close();
    expect(news).toBe(junkMessages / 250);
    stopped.process.kill('SIGCONT');
    await waitForCompleteView(rig, stopped.adminUrl);
  });
});

/** Waits until the view shows numbers of each endpoint that were measured after this call. */
async function measuredFromNowOn(adminUrl: string): Promise<number> {
  const calledMs = performance.now();
  await waitUntil(
    async () => {
      const sinceMs = performance.now() - calledMs;
      const view = await viewOf(adminUrl);
      return view.length > 0 && view.every(({ ageMs }) => ageMs !== null && ageMs < sinceMs);
    },
    { what: 'numbers that are newer, while the subscriber stands still' },
  );
  return 1;
}
