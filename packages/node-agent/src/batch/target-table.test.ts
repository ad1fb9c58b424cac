/** Whose frames the table takes. */
import { recordType } from '@leadsman/wire';
import { describe, expect, it } from 'vitest';
import { type BatchBounds, batchBoundsDefault } from './bounds.ts';
import { createBatchCounters } from './counters.ts';
import { attributesOf, frameOf, goneOf, peerOf, reportFrame, reportOf } from './frames.fixture.ts';
import { TargetTable } from './target-table.ts';

function setUp(bounds: Partial<BatchBounds> = {}) {
  const counters = createBatchCounters();
  return { table: new TargetTable({ ...batchBoundsDefault, ...bounds }, counters), counters };
}

describe('who may speak for a pod', () => {
  const mine = peerOf('10.0.0.1');
  const other = peerOf('10.0.0.2');

  it('is the peer at the address of its report, mapped IPv4 included', () => {
    const { table } = setUp();
    const frame = reportFrame({ uid: 'a', seq: 1, address: '10.0.0.1' });
    expect(table.take(frame, other, 0).status).toBe('wrong_peer');
    expect(table.targets.size).toBe(0);
    expect(table.take(frame, peerOf('::ffff:10.0.0.1'), 0).status).toBe('taken');
  });

  it('is nobody else while that one lives', () => {
    const { table } = setUp();
    table.take(reportFrame({ uid: 'a', seq: 1, address: '10.0.0.1' }), mine, 0);
    const taken = reportFrame({ uid: 'a', seq: 2, address: '10.0.0.2' });
    expect(table.take(taken, other, 1_000).status).toBe('wrong_peer');
    expect(table.take(taken, other, 5_000).status).toBe('taken');
  });

  it('holds for records without an address too', () => {
    const { table } = setUp();
    const attributes = frameOf([recordType.attributes, attributesOf('a', 1)]);
    expect(table.take(attributes, mine, 0).status).toBe('wrong_peer');
    table.take(reportFrame({ uid: 'a', seq: 1 }), mine, 0);
    expect(table.take(attributes, other, 0).status).toBe('wrong_peer');
    expect(table.take(attributes, mine, 0).status).toBe('taken');
    expect(table.take(frameOf([recordType.gone, goneOf('a', 9)]), other, 0).status).toBe(
      'wrong_peer',
    );
  });

  it('may not take the room of the others with identities that it makes up', () => {
    const { table, counters } = setUp({ targetsPerAddressMax: 2 });
    const take = (uid: string, address: string) =>
      table.take(reportFrame({ uid, seq: 1, address }), peerOf(address), 0).status;
    expect(['a', 'b', 'c'].map((uid) => take(uid, '10.0.0.1'))).toEqual(['taken', 'taken', 'full']);
    expect(take('d', '10.0.0.2')).toBe('taken');
    const next = reportFrame({ uid: 'a', seq: 2, address: '10.0.0.1' });
    expect(table.take(next, mine, 0).status).toBe('taken');
    expect(counters.refusedTargets).toBe(1);
  });

  it('may bring the report and its attributes in one frame', () => {
    const { table } = setUp();
    const both = frameOf(
      [recordType.attributes, attributesOf('a', 1)],
      [recordType.report, reportOf({ uid: 'a', seq: 1 })],
    );
    expect(table.take(both, mine, 0).status).toBe('taken');
  });
});
