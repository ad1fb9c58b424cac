import { describe, expect, it } from 'vitest';
import { createRig, endpointsOf, type Rig } from '../../fixture/scheduler-rig.ts';
import { failureHoldMs, UpstreamFailures } from './upstream-failures.ts';

const pods = endpointsOf(2);
const config = 'default: { strategy: least-request }';

function report(rig: Rig, measuredAtMs: number): void {
  for (const pod of pods) {
    rig.gauges.report(pod, { measuredAtMs, runningRequests: 0, waitingRequests: 0 });
  }
  rig.scheduler.tick(measuredAtMs);
}

/** Where ten requests go at a time, each ending at once. */
function picked(rig: Rig, nowMs: number): Set<number> {
  const indexes = Array.from({ length: 10 }, () => {
    const pick = rig.pick({ nowMs });
    rig.scheduler.release(pick.ticket, { outputTokens: 1, aborted: false });
    return pick.endpoint!.index;
  });
  return new Set(indexes);
}

describe('an endpoint that a gateway could not reach', () => {
  it('is not picked first from that moment on, and again after a later good report', async () => {
    const rig = await createRig({ config, endpoints: pods });
    report(rig, 1_000);
    const { ticket, endpoint } = rig.pick({ nowMs: 1_000 });
    rig.scheduler.upstreamFailed(ticket);
    rig.scheduler.release(ticket, { outputTokens: -1, aborted: false });
    const other = 1 - endpoint!.index;
    expect(picked(rig, 1_000)).toEqual(new Set([other]));
    // Its page looks well, but was read too soon to prove that the way to it is whole.
    report(rig, 1_050);
    expect(picked(rig, 1_050)).toEqual(new Set([other]));
    report(rig, 1_000 + failureHoldMs);
    expect(picked(rig, 1_000 + failureHoldMs)).toEqual(new Set([0, 1]));
  });

  it('is still picked when there is nobody else', async () => {
    const rig = await createRig({ config, endpoints: pods.slice(0, 1) });
    const { ticket } = rig.pick({ nowMs: 1 });
    rig.scheduler.upstreamFailed(ticket);
    expect(rig.pick({ nowMs: 2 })).toMatchObject({ status: 'picked', reason: 'last_resort' });
  });

  it('is out for longer with each failure, until it answers', () => {
    const failures = new UpstreamFailures();
    expect(failures.isOut(3, Number.NaN)).toBe(false);
    failures.failed(3, 0);
    failures.failed(3, 10);
    expect(failures.isOut(3, failureHoldMs - 1)).toBe(true);
    expect(failures.isOut(3, failureHoldMs)).toBe(false);
    failures.failed(3, failureHoldMs);
    expect(failures.isOut(3, 3 * failureHoldMs - 1)).toBe(true);
    expect(failures.isOut(3, 3 * failureHoldMs)).toBe(false);
    failures.answered(3);
    expect(failures.isOut(3, 0)).toBe(false);
    for (let i = 0, at = 0; i < 20; i++, at += 40_000) failures.failed(3, at);
    expect(failures.isOut(3, 19 * 40_000 + 30_000)).toBe(false);
  });
});
