/**
 * Every part of the pipeline is killed under load, one after the other. None of it may cost a
 * request, and the view must be complete again within two seconds of the part's return.
 */
import { Rig, requireEnvoy, requireNats } from '@leadsman/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLoad } from './load.ts';
import {
  expectRecovery,
  servedBy,
  viewOf,
  waitForAgent,
  waitForCompleteView,
  waitForStale,
} from './view.ts';

const ready = [requireEnvoy(), requireNats()].every(Boolean);

describe.skipIf(!ready)('a fault under load', () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start({
      nodes: 2,
      podsPerNode: 2,
      subnet: 21,
      engine: { speed: 4 },
      // Short, so that the tests need not wait for what they kill to be noticed.
      staleAfterMs: 600,
      pickerFlags: { workers: 2 },
    });
    await waitForCompleteView(rig, rig.picker!.adminUrl);
    await waitForAgent(rig, 0);
    await waitForAgent(rig, 1);
  }, 120_000);

  afterAll(() => rig?.stop());

  it('NATS: requests go on without a view, which is complete soon after its return', async () => {
    const load = startLoad(rig);
    await load.more(20);
    rig.nats!.kill();
    for (const pod of rig.pods) await waitForStale(rig, rig.picker!.adminUrl, pod);
    await load.more(30);
    await rig.restartNats();
    await expectRecovery(rig, rig.picker!.adminUrl);
    await load.more(20);
    await load.stopWithoutFailure();
  });

  it('an agent: its sidecars publish for themselves until it is back', async () => {
    const load = startLoad(rig);
    await load.more(20);
    rig.agents[0]!.process.kill();
    await rig.agents[0]!.process.exited;
    await load.more(30);
    // Not a moment of staleness is needed: what the agent did not take goes to NATS.
    await expectRecovery(rig, rig.picker!.adminUrl);
    await rig.startAgent(0);
    await waitForAgent(rig, 0);
    await expectRecovery(rig, rig.picker!.adminUrl);
    await load.more(20);
    await load.stopWithoutFailure();
  });

  it('a sidecar: its engine becomes the last resort, and is back with the sidecar', async () => {
    const load = startLoad(rig);
    await load.more(20);
    rig.sidecars[1]!.process.kill();
    await waitForStale(rig, rig.picker!.adminUrl, rig.pods[1]!);
    const before = await servedBy(rig);
    await load.more(60);
    const after = await servedBy(rig);
    expect(after[1]).toBe(before[1]);
    // A new process counts its reports from 1 again: its epoch makes them newer.
    await rig.startSidecar(1);
    await expectRecovery(rig, rig.picker!.adminUrl);
    await load.more(60);
    expect((await servedBy(rig))[1]).toBeGreaterThan(after[1]!);
    await load.stopWithoutFailure();
  });

  it('every sidecar: when all are stale, requests are spread over all of them', async () => {
    const load = startLoad(rig);
    for (const sidecar of rig.sidecars) sidecar.process.kill();
    for (const pod of rig.pods) await waitForStale(rig, rig.picker!.adminUrl, pod);
    const before = await servedBy(rig);
    await load.more(60);
    const after = await servedBy(rig);
    for (const [i, count] of after.entries()) expect(count).toBeGreaterThan(before[i]!);
    await Promise.all(rig.pods.map((pod) => rig.startSidecar(pod.index)));
    await expectRecovery(rig, rig.picker!.adminUrl);
    await load.stopWithoutFailure();
  });

  it('an engine that slows down gets fewer requests', async () => {
    rig.engines.engines[3]!.setSpeed(0.4);
    const load = startLoad(rig, 16);
    await load.more(40);
    const before = await servedBy(rig);
    await load.more(200);
    const gained = (await servedBy(rig)).map((count, i) => count - before[i]!);
    const others = (gained[0]! + gained[1]! + gained[2]!) / 3;
    expect(gained[3]).toBeLessThan(0.7 * others);
    rig.engines.engines[3]!.setSpeed(4);
    await load.stopWithoutFailure();
  });

  it('never has the picker fetch a metrics page', async () => {
    const { engines } = await rig.engines.state();
    for (const engine of engines) {
      expect(engine.ownScrapes).toBeGreaterThan(0);
      expect(engine.foreignScrapes).toBe(0);
    }
    expect(await viewOf(rig.picker!.adminUrl)).toHaveLength(4);
  });
});
