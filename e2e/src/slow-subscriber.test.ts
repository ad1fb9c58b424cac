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

  it('does not make the view of another older than two seconds', async () => {
    const publisher = await connect({ servers: rig.nats!.url });
    const subject = nodeFramesSubject('leadsman', 'noisy-node');
    const junk = new Uint8Array(junkBytes).fill(1);
    stopped.process.kill('SIGSTOP');
    let oldestMs = 0;
    for (let sent = 0; sent < junkMessages; sent++) {
      publisher.publish(subject, junk);
      await delay(junkIntervalMs);
      if (sent % 25 !== 0) continue;
      for (const { ageMs } of await viewOf(rig.picker!.adminUrl)) {
        oldestMs = Math.max(oldestMs, ageMs ?? Number.POSITIVE_INFINITY);
      }
    }
    await publisher.close();
    stopped.process.kill('SIGCONT');
    expect(oldestMs).toBeLessThan(2_000);
    await waitForCompleteView(rig, stopped.adminUrl);
  });
});
