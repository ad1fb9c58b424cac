/** The table's counts are those of its targets, whatever came in whatever order. */
import { recordType } from '@leadsman/wire';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { batchBoundsDefault } from './bounds.ts';
import { createBatchCounters } from './counters.ts';
import { attributesOf, frameOf, goneOf, reportOf } from './frames.fixture.ts';
import { TargetTable } from './target-table.ts';

const about = {
  uid: fc.constantFrom('a', 'b', 'c'),
  seq: fc.integer({ min: 1, max: 12 }),
  passMs: fc.constantFrom(0, 50, 1_000, 6_000),
};
const step = fc.record({
  kind: fc.constantFrom('report', 'report', 'gone', 'attributes', 'both', 'sent', 'expire'),
  ...about,
});

/** The frame of a step; none for those that bring nothing. */
function frameFor(kind: string, uid: string, seq: number): Uint8Array | undefined {
  const report = [recordType.report, reportOf({ uid, seq })] as [number, Uint8Array];
  const gone = [recordType.gone, goneOf(uid, seq)] as [number, Uint8Array];
  if (kind === 'report') return frameOf(report);
  if (kind === 'gone') return frameOf(gone);
  if (kind === 'both') return frameOf(report, gone);
  if (kind === 'attributes') return frameOf([recordType.attributes, attributesOf(uid, seq)]);
  return undefined;
}

it('knows how many of its targets live, and how many reports wait', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const table = new TargetTable(batchBoundsDefault, createBatchCounters());
      let nowMs = 0;
      for (const { kind, uid, seq, passMs } of steps) {
        nowMs += passMs;
        const frame = frameFor(kind, uid, seq);
        if (frame !== undefined) expect(table.take(frame, undefined, nowMs).status).toBe('taken');
        if (kind === 'expire') table.expire(nowMs);
        const targets = [...table.targets.values()];
        if (kind === 'sent') {
          for (const { report, gone } of targets) report.waiting = gone.waiting = false;
          table.waitingReports = 0;
        }
        expect(table.living).toBe(targets.filter((target) => !target.ended).length);
        expect(table.waitingReports).toBe(targets.filter(({ report }) => report.waiting).length);
      }
    }),
    { numRuns: 300 },
  );
});
