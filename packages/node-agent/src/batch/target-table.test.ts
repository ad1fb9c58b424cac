/** Whose frames the table takes. */
import { podKeyFromUid, podKeyText, recordType } from '@leadsman/wire';
import { describe, expect, it } from 'vitest';
import { type BatchBounds, batchBoundsDefault } from './bounds.ts';
import { createBatchCounters } from './counters.ts';
import { attributesOf, frameOf, goneOf, peerOf, reportFrame, reportOf } from './frames.fixture.ts';
import { type PodDirectory, TargetTable } from './target-table.ts';

function setUp(bounds: Partial<BatchBounds> = {}, directory?: PodDirectory) {
  const counters = createBatchCounters();
  const table = new TargetTable({ ...batchBoundsDefault, ...bounds }, counters, directory);
  return { table, counters };
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

  it('is nobody else for another port of the pod either', () => {
    const { table } = setUp();
    table.take(reportFrame({ uid: 'a', seq: 1, address: '10.0.0.1' }), mine, 0);
    const port = reportFrame({ uid: 'a', port: 8001, epoch: 9e15, seq: 1, address: '10.0.0.2' });
    expect(table.take(port, other, 1_000).status).toBe('wrong_peer');
    // The pod goes on reporting its one port: it stays where it is, however long.
    for (let ms = 1_000; ms <= 20_000; ms += 1_000) {
      table.take(reportFrame({ uid: 'a', seq: ms, address: '10.0.0.1' }), mine, ms);
      table.expire(ms);
      expect(table.take(port, other, ms).status).toBe('wrong_peer');
    }
    expect(table.targets.size).toBe(1);
  });

  it('is, by the list of the node, a pod of it at its own address only', () => {
    const lists = new Map([
      ['a', [mine]],
      ['starting', []],
    ]);
    const keys = new Map([...lists].map(([uid, list]) => [podKeyText(podKeyFromUid(uid)), list]));
    const directory = { listed: false, addressesOf: (podKey: string) => keys.get(podKey) };
    const { table, counters } = setUp({}, directory);
    const take = (uid: string, address: string, seq: number, epoch = 1) =>
      table.take(reportFrame({ uid, seq, epoch, address }), peerOf(address), 0).status;
    // Nothing is concluded from a list that has not been read: the first address has the pod.
    expect(take('a', '10.0.0.2', 1)).toBe('taken');
    expect(take('far', '10.0.0.2', 1)).toBe('taken');
    directory.listed = true;
    expect(take('a', '10.0.0.2', 2, 9e15)).toBe('wrong_peer');
    expect(take('a', '10.0.0.1', 3)).toBe('taken');
    expect(take('far', '10.0.0.2', 2)).toBe('foreign_pod');
    expect(take('starting', '10.0.0.3', 1)).toBe('taken');
    expect(take('starting', '10.0.0.4', 2)).toBe('wrong_peer');
    const gone = frameOf([recordType.gone, goneOf('far', 9)]);
    expect(table.take(gone, other, 0).status).toBe('foreign_pod');
    const goneOfMine = frameOf([recordType.gone, goneOf('a', 9)]);
    expect(table.take(goneOfMine, other, 0).status).toBe('wrong_peer');
    expect(counters).toMatchObject({ refusedForeign: 2, refusedPeers: 3 });
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
