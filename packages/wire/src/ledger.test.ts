import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  LedgerReader,
  LedgerWriter,
  ledgerKind,
  ledgerRecord,
  podKeyFromUid,
  WireError,
} from './index.ts';

const replica = podKeyFromUid('picker-0');
const other = podKeyFromUid('picker-1');
const pod = podKeyFromUid('0b0e7e4e-5d0c-4f7e-9a43-1b5a2f3c4d5e');

function sample(): Uint8Array {
  const writer = new LedgerWriter();
  writer.begin();
  writer.echo(other, 1234.5, 7);
  writer.load(pod, 8000, 3, 1200, 1, 5000);
  writer.history(pod, 8001, Int32Array.of(-1, 2), Int32Array.of(3, -4), 2);
  return writer.finish(ledgerKind.keyframe, replica, 9, 4, 99.25);
}

describe('a ledger message', () => {
  it('comes back as it was written', () => {
    const reader = new LedgerReader();
    reader.load(sample());
    expect([reader.kind, reader.epoch, reader.seq, reader.sentAtMs]).toEqual([1, 9, 4, 99.25]);
    expect(reader.replicaId()).toEqual(replica);
    expect(reader.next()).toBe(true);
    expect(reader.type).toBe(ledgerRecord.echo);
    expect([reader.isEchoFor(other), reader.isEchoFor(replica)]).toEqual([true, false]);
    expect([reader.echoSentAtMs, reader.echoHeldMs]).toEqual([1234.5, 7]);
    expect(reader.next()).toBe(true);
    expect(reader.target()).toBe('0b0e7e4e-5d0c-4f7e-9a43-1b5a2f3c4d5e/8000');
    expect([0, 1, 2, 3].map((field) => reader.loadField(field))).toEqual([3, 1200, 1, 5000]);
    expect(reader.next()).toBe(true);
    const high = new Int32Array(2);
    const low = new Int32Array(2);
    expect(reader.historyBlocks(high, low)).toBe(2);
    expect([...high, ...low]).toEqual([-1, 2, 3, -4]);
    expect(reader.next()).toBe(false);
  });

  it('of version 1 has these bytes for ever', async () => {
    const golden = await readFile(new URL('./golden/ledger-v1.bin', import.meta.url));
    expect(Buffer.from(sample()).toString('hex')).toBe(golden.toString('hex'));
  });

  it('skips records of a type it does not know', () => {
    const message = new Uint8Array(sample());
    message[56] = 77;
    const reader = new LedgerReader();
    reader.load(message);
    expect(reader.next()).toBe(true);
    expect(reader.type).toBe(ledgerRecord.load);
  });

  it('keeps its bytes within the bound it was given', () => {
    const writer = new LedgerWriter(1_024);
    writer.begin();
    let written = 0;
    while (writer.load(pod, 8000, 1, 1, 0, 1)) written++;
    expect(written).toBe(Math.floor((1_024 - 56) / 48));
    expect(writer.finish(ledgerKind.changes, replica, 1, 1, 0).length).toBeLessThanOrEqual(1_024);
  });

  it('refuses a negative load', () => {
    const writer = new LedgerWriter();
    writer.begin();
    writer.load(pod, 8000, -1, 0, 0, 0);
    const message = writer.finish(ledgerKind.changes, replica, 1, 1, 0);
    expect(() => new LedgerReader().load(message)).toThrow(WireError);
  });

  it('fails on arbitrary and damaged bytes with the typed error only', () => {
    const reader = new LedgerReader();
    const valid = sample();
    const damaged = fc
      .array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 8 })
      .map((changes) => {
        const bytes = new Uint8Array(valid);
        for (const [at, value] of changes) bytes[at] = value;
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), damaged), (bytes) => {
        try {
          reader.load(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
          expect(reader.next()).toBe(false);
          return;
        }
        const high = new Int32Array(2_048);
        while (reader.next()) {
          if (reader.type === ledgerRecord.history) reader.historyBlocks(high, high);
          else if (reader.type === ledgerRecord.load) reader.target();
        }
      }),
    );
  });
});
