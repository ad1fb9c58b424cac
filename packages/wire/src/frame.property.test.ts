import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeAttributes, encodeAttributes } from './attributes.ts';
import { WireError } from './error.ts';
import { recordType } from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import { decodeGone, encodeGone } from './gone.ts';
import { reportBytes } from './limits.ts';
import { metricsCount } from './metric.ts';
import { podKeyFromUid } from './pod-key.ts';
import { decodeRanks, encodeRanks } from './ranks.ts';
import { type Report, readReport, writeReport } from './report.ts';

const counter = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const key = fc.uint8Array({ minLength: 16, maxLength: 16 });
const reports: fc.Arbitrary<Report> = fc.record({
  podKey: key,
  address: fc.oneof(fc.ipV4(), fc.constantFrom('::1', 'fe80::1', '2001:db8::a:0:0:7')),
  port: fc.integer({ min: 1, max: 65_535 }),
  rank: fc.integer({ min: 0, max: 65_535 }),
  flags: fc.integer({ min: 0, max: 255 }),
  reason: fc.integer({ min: 0, max: 255 }),
  engineRanks: fc.integer({ min: 0, max: 64 }),
  epoch: counter,
  seq: counter,
  ageMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
  metrics: fc
    .array(fc.double(), { minLength: metricsCount, maxLength: metricsCount })
    .map((list) => Float64Array.from(list)),
});
const name = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });

/** Reads everything in a frame; whatever happens, only the codec's own error may come out. */
function readAll(frame: Uint8Array): void {
  const reader = new FrameReader();
  try {
    reader.load(frame);
    while (reader.next()) {
      const payload = reader.bytes.subarray(reader.offset, reader.offset + reader.length);
      if (reader.type === recordType.report) readReport(payload);
      if (reader.type === recordType.attributes) decodeAttributes(payload);
      if (reader.type === recordType.ranks) decodeRanks(payload);
      if (reader.type === recordType.gone) decodeGone(payload);
    }
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
  }
}

/** One record of each other kind, about the same target. */
function appendOthers(writer: FrameWriter, { podKey, port, epoch, seq }: Report): void {
  const about = { podKey, port, epoch };
  const text = { podName: 'p', namespace: '', nodeName: '', engine: 'e', engineVersion: '' };
  const { bytes } = encodeAttributes({
    ...about,
    ...text,
    revision: seq,
    metricsPort: '',
    reporter: '',
    models: ['m'],
    loraRunning: ['a'],
    loraWaiting: undefined,
  });
  writer.append(recordType.attributes, bytes);
  const rank = { rank: 1, runningRequests: 1, waitingRequests: 2, kvCacheUsageRatio: Number.NaN };
  writer.append(recordType.ranks, encodeRanks({ ...about, seq, ranks: [rank] }));
  writer.append(recordType.gone, encodeGone({ ...about, seq }));
}

it('a report survives the round trip', () => {
  fc.assert(
    fc.property(reports, (report) => {
      const bytes = new Uint8Array(reportBytes);
      writeReport(report, bytes);
      expect(readReport(bytes)).toEqual(report);
    }),
  );
});

it('attributes survive the round trip', () => {
  const list = fc.array(name, { maxLength: 5 });
  const values = fc.record({
    podKey: key,
    port: fc.integer({ min: 1, max: 65_535 }),
    epoch: counter,
    revision: counter,
    podName: name,
    namespace: name,
    nodeName: name,
    engine: name,
    engineVersion: name,
    metricsPort: name,
    reporter: name,
    models: list,
    loraRunning: fc.option(list, { nil: undefined }),
    loraWaiting: fc.option(list, { nil: undefined }),
  });
  fc.assert(
    fc.property(values, (value) => {
      const { bytes, dropped } = encodeAttributes(value);
      fc.pre(dropped === 0);
      expect(decodeAttributes(bytes)).toEqual(value);
    }),
  );
});

it('arbitrary bytes fail with the typed error only', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), readAll));
});

it('a frame with any bytes changed is read whole or refused', () => {
  const sender = { id: podKeyFromUid('s'), epoch: 1 };
  const change = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
  fc.assert(
    fc.property(
      fc.array(reports, { maxLength: 4 }),
      fc.array(change, { maxLength: 4 }),
      fc.nat(),
      (list, changes, cut) => {
        const writer = new FrameWriter(sender);
        const bytes = new Uint8Array(reportBytes);
        for (const report of list) {
          writeReport(report, bytes);
          writer.appendReport(bytes, 0);
          appendOthers(writer, report);
        }
        const frame = writer.finish();
        for (const { at, byte } of changes) frame[at % frame.length] = byte;
        readAll(cut % 3 === 0 ? frame.subarray(0, cut % (frame.length + 1)) : frame);
      },
    ),
  );
});
