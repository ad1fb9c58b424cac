import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { WireError } from './error.ts';
import { oldFrame, oldReport, readOldFrame, relayedByOld } from './fixture/version-1.ts';
import { recordType } from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import { recordBytesMax, reportBytes } from './limits.ts';
import { metric, metricsCount } from './metric.ts';
import { podKeyFromUid } from './pod-key.ts';
import { type Report, readReport, writeReport } from './report.ts';
import { reportOffset } from './report-layout.ts';
import { copyReport } from './report-words.ts';

const podKey = podKeyFromUid('0b8c1c52-3f5e-4f0e-9d59-6f1f4a1f6b11');
const oldNumbers = Array.from({ length: 23 }, (_, i) => i + 0.5);
const newNumbers = Float64Array.from({ length: metricsCount }, (_, i) => i + 0.5);
const old = { podKey, port: 8000, epoch: 5, seq: 7, metrics: oldNumbers };

function newReport(): Uint8Array {
  const bytes = new Uint8Array(reportBytes);
  const report: Report = {
    podKey,
    address: '10.0.0.7',
    port: 8000,
    rank: 0,
    flags: 0,
    reason: 0,
    engineRanks: 1,
    epoch: 5,
    seq: 7,
    ageMs: 0,
    metrics: newNumbers,
  };
  writeReport(report, bytes);
  return bytes;
}

/** As the next version would write it: one number more. */
function nextReport(): Uint8Array {
  const bytes = new Uint8Array(reportBytes + 8);
  bytes.set(newReport());
  const view = new DataView(bytes.buffer);
  view.setUint16(reportOffset.metricsCount, metricsCount + 1, true);
  view.setFloat64(reportBytes, 99, true);
  return bytes;
}

function frameOf(...reports: Uint8Array[]): Uint8Array {
  const writer = new FrameWriter({ id: new Uint8Array(16).fill(1), epoch: 1 });
  for (const report of reports) writer.append(recordType.report, report);
  return writer.finish();
}

/** The numbers of each report of a frame, as a slot of the view would have them. */
function slotsOf(frame: Uint8Array): Float64Array[] {
  const reader = new FrameReader();
  reader.load(frame);
  const slots: Float64Array[] = [];
  while (reader.next()) {
    if (reader.type !== recordType.report) continue;
    const slot = new Float64Array(reportBytes / 8).fill(12_345);
    const ints = new Int32Array(slot.buffer);
    copyReport(reader.words, reader.ints, reader.offset / 8, slot, ints, 0);
    const whole = readReport(new Uint8Array(slot.buffer)).metrics;
    expect(readReport(reader.bytes, reader.offset, reader.length).metrics).toEqual(whole);
    slots.push(whole);
  }
  return slots;
}

function unknownFrom(count: number): Float64Array {
  return Float64Array.from(newNumbers, (value, i) => (i < count ? value : Number.NaN));
}

describe('versions of a report', () => {
  it('an old report is read, what it does not state is unknown and not its neighbour', () => {
    expect(slotsOf(oldFrame(1, [1, oldReport(old)], [1, oldReport(old)]))).toEqual([
      unknownFrom(23),
      unknownFrom(23),
    ]);
  });

  it('a new report is read by an old reader, for what it knows', () => {
    expect(readOldFrame(frameOf(newReport(), newReport()))).toEqual([old, old]);
  });

  it('a report of the next version is read, by this one and by an old one', () => {
    expect(slotsOf(frameOf(nextReport(), newReport()))).toEqual([newNumbers, newNumbers]);
    expect(readOldFrame(frameOf(nextReport(), newReport()))).toEqual([old, old]);
  });

  it('a new report that an old collector passed on is read, by old and new', () => {
    for (const report of [newReport(), nextReport()]) {
      const frame = oldFrame(1, [1, relayedByOld(report)], [1, relayedByOld(report)]);
      expect(readOldFrame(frame)).toEqual([old, old]);
      expect(slotsOf(frame)).toEqual([unknownFrom(23), unknownFrom(23)]);
    }
  });

  it('old and new in one frame do not disturb each other', () => {
    const frame = frameOf(oldReport(old), newReport(), nextReport(), oldReport(old));
    expect(slotsOf(frame)).toEqual([unknownFrom(23), newNumbers, newNumbers, unknownFrom(23)]);
    expect(readOldFrame(frame)).toEqual([old, old, old, old]);
  });

  it('a known record longer than any version may need refuses the frame, an unknown one does not', () => {
    const long = new Uint8Array(recordBytesMax + 8);
    long.set(newReport());
    const reader = new FrameReader();
    expect(() => reader.load(frameOf(long))).toThrow(WireError);
    const longest = long.subarray(0, recordBytesMax);
    expect(slotsOf(frameOf(longest, newReport()))).toEqual([newNumbers, newNumbers]);
    const writer = new FrameWriter({ id: new Uint8Array(16).fill(1), epoch: 1 });
    writer.append(99, long);
    writer.append(recordType.report, newReport());
    expect(slotsOf(writer.finish())).toEqual([newNumbers]);
  });

  it('a report of another format is skipped and counted, the frame is read', () => {
    const foreign = newReport();
    foreign[reportOffset.format] = 2;
    foreign.fill(0xff, reportOffset.port);
    const frame = frameOf(foreign, newReport());
    const reader = new FrameReader();
    reader.load(frame);
    expect(reader.unknownRecords).toBe(1);
    expect(slotsOf(frame)).toEqual([newNumbers]);
  });

  it('the numbers of version 1 are where they were', () => {
    const golden = readFileSync(new URL('./golden/frame-v1.bin', import.meta.url));
    const [first] = slotsOf(golden);
    expect(first?.[metric.runningRequests]).toBe(4);
    expect(first?.[metric.kvCacheUsageRatio]).toBe(0.25);
    expect(first?.slice(23)).toEqual(new Float64Array(metricsCount - 23).fill(Number.NaN));
  });
});
