import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeAttributes, encodeAttributes } from './attributes.ts';
import { WireError } from './error.ts';
import { frameKind, frameOffset, recordType } from './frame.ts';
import { FrameReader } from './frame-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import { decodeGone, encodeGone } from './gone.ts';
import { counterMax, frameHeaderBytes, recordHeaderBytes, reportBytes } from './limits.ts';
import { metric, metricsCount } from './metric.ts';
import { podKeyFromUid } from './pod-key.ts';
import { decodeRanks, encodeRanks } from './ranks.ts';
import { type Report, readReport, writeReport } from './report.ts';
import { reportOffset } from './report-layout.ts';

const podKey = podKeyFromUid('0b8c1c52-3f5e-4f0e-9d59-6f1f4a1f6b11');
const sender = { id: podKeyFromUid('sender'), epoch: 1_800_000_000_000 };

function report(change: Partial<Report> = {}): Report {
  const metrics = new Float64Array(metricsCount).fill(Number.NaN);
  metrics[metric.runningRequests] = 4;
  metrics[metric.kvCacheUsageRatio] = 0.25;
  return {
    podKey,
    address: '10.1.2.3',
    port: 8000,
    rank: 0,
    flags: 0,
    reason: 0,
    engineRanks: 1,
    epoch: 1_800_000_000_123,
    seq: 7,
    ageMs: 1.5,
    metrics,
    ...change,
  };
}

function bytesOf(value: Report): Uint8Array {
  const bytes = new Uint8Array(reportBytes);
  writeReport(value, bytes);
  return bytes;
}

const attributes = {
  podKey,
  port: 8000,
  epoch: 1_800_000_000_123,
  revision: 2,
  podName: 'model-0',
  namespace: 'serving',
  nodeName: 'node-a',
  engine: 'vllm',
  engineVersion: '',
  metricsPort: '8000',
  reporter: 'sidecar',
  models: ['meta/large', 'alias'],
  loraRunning: [] as string[],
  loraWaiting: undefined,
};
const ranks = {
  podKey,
  port: 8000,
  epoch: 9,
  seq: 7,
  ranks: [
    { rank: 0, runningRequests: 3, waitingRequests: 0, kvCacheUsageRatio: 0.5 },
    { rank: 1, runningRequests: 1, waitingRequests: Number.NaN, kvCacheUsageRatio: 0.25 },
  ],
};

/** A frame with one record of each kind. */
function sampleFrame(): Uint8Array {
  const writer = new FrameWriter(sender);
  writer.appendReport(bytesOf(report()), 2.5);
  writer.append(recordType.attributes, encodeAttributes(attributes).bytes);
  writer.append(recordType.ranks, encodeRanks(ranks));
  writer.append(recordType.gone, encodeGone({ podKey, port: 8001, epoch: 9, seq: 8 }));
  return writer.finish(frameKind.keyframe, 0, 2);
}

function load(frame: Uint8Array): FrameReader {
  const reader = new FrameReader();
  reader.load(frame);
  return reader;
}

function codeOf(frame: Uint8Array): string {
  try {
    load(frame);
  } catch (error) {
    if (error instanceof WireError) return error.code;
    throw error;
  }
  return 'none';
}

describe('a frame', () => {
  it('gives back what was put in, each kind of record', () => {
    const reader = load(sampleFrame());
    expect(reader).toMatchObject({ kind: 1, seq: 1, part: 0, parts: 2, records: 4 });
    expect(reader.senderEpoch).toBe(sender.epoch);
    expect(reader.next()).toBe(true);
    const first = readReport(reader.bytes.subarray(reader.offset, reader.offset + reader.length));
    expect(first).toEqual(report({ ageMs: 4 }));
    expect(reader.words[(reader.offset + reportOffset.seq) / 8]).toBe(7);
    const rest: number[] = [];
    while (reader.next()) {
      const payload = reader.bytes.slice(reader.offset, reader.offset + reader.length);
      rest.push(reader.type);
      if (reader.type === recordType.attributes) {
        expect(decodeAttributes(payload)).toEqual(attributes);
      }
      if (reader.type === recordType.ranks) expect(decodeRanks(payload)).toEqual(ranks);
      if (reader.type === recordType.gone) expect(decodeGone(payload).port).toBe(8001);
    }
    expect(rest).toEqual([recordType.attributes, recordType.ranks, recordType.gone]);
  });

  it('is not spoilt for all its reports by one that claims the highest age', () => {
    const writer = new FrameWriter(sender);
    writer.appendReport(bytesOf(report({ ageMs: counterMax })), 2.5);
    writer.appendReport(bytesOf(report({ port: 8001 })), 2.5);
    const reader = new FrameReader();
    reader.load(writer.finish());
    const agesMs: number[] = [];
    while (reader.next()) agesMs.push(readReport(reader.bytes, reader.offset).ageMs);
    expect(agesMs).toEqual([counterMax, 4]);
  });

  it('reads a payload that begins at any offset of its buffer', () => {
    const frame = sampleFrame();
    for (let shift = 0; shift < 8; shift++) {
      const wide = new Uint8Array(frame.length + shift);
      wide.set(frame, shift);
      expect(load(wide.subarray(shift)).records).toBe(4);
    }
  });

  it('numbers frames, and splits them at the size it is given', () => {
    const room = frameHeaderBytes + 2 * (recordHeaderBytes + reportBytes);
    const writer = new FrameWriter(sender, room + 7);
    expect(writer.bytesMax).toBe(room);
    const bytes = bytesOf(report());
    expect(writer.appendReport(bytes, 0)).toBe(true);
    expect(writer.appendReport(bytes, 0)).toBe(true);
    expect(writer.appendReport(bytes, 0)).toBe(false);
    expect(writer.finish()).toHaveLength(room);
    expect(writer.appendReport(bytes, 0)).toBe(true);
    expect(load(writer.finish()).seq).toBe(2);
    expect(writer.fits(2_000)).toBe(false);
  });

  it('skips a record type it does not know, and counts it', () => {
    const writer = new FrameWriter(sender);
    writer.append(99, new Uint8Array(16));
    writer.appendReport(bytesOf(report()), 0);
    const reader = load(writer.finish());
    expect(reader.unknownRecords).toBe(1);
    expect(reader.next()).toBe(true);
    expect(reader.type).toBe(recordType.report);
    expect(reader.next()).toBe(false);
  });

  it('takes a longer header of its version', () => {
    const frame = sampleFrame();
    const longer = new Uint8Array(frame.length + 8);
    longer.set(frame.subarray(0, frameHeaderBytes));
    longer.set(frame.subarray(frameHeaderBytes), frameHeaderBytes + 8);
    const view = new DataView(longer.buffer);
    view.setUint16(frameOffset.headerBytes, frameHeaderBytes + 8, true);
    view.setUint32(frameOffset.bytes, longer.length, true);
    expect(load(longer).records).toBe(4);
  });

  it('reads numbers that a report does not state as unknown, whatever lies there', () => {
    const bytes = bytesOf(report({ metrics: new Float64Array(metricsCount).fill(0) }));
    new DataView(bytes.buffer).setUint16(reportOffset.metricsCount, 3, true);
    const writer = new FrameWriter(sender);
    writer.appendReport(bytes, 0);
    writer.appendReport(bytesOf(report()), 0);
    const reader = load(writer.finish());
    reader.next();
    const expected = new Float64Array(metricsCount).fill(Number.NaN).fill(0, 0, 3);
    expect(readReport(reader.bytes, reader.offset, reader.length).metrics).toEqual(expected);
    reader.next();
    expect(readReport(reader.bytes, reader.offset, reader.length)).toEqual(report());
  });

  it('refuses what is not sound, with the code of the fault', () => {
    const frame = sampleFrame();
    const broken = (change: (view: DataView) => void) => {
      const copy = frame.slice();
      change(new DataView(copy.buffer));
      return codeOf(copy);
    };
    expect(codeOf(new Uint8Array(10))).toBe('truncated');
    expect(codeOf(frame.subarray(0, frame.length - 8))).toBe('truncated');
    expect(broken((view) => view.setUint8(0, 0))).toBe('magic');
    expect(broken((view) => view.setUint8(frameOffset.version, 2))).toBe('version');
    expect(broken((view) => view.setUint8(frameOffset.kind, 9))).toBe('value');
    expect(broken((view) => view.setUint32(frameOffset.records, 5, true))).toBe('bounds');
    expect(broken((view) => view.setUint16(frameOffset.part, 2, true))).toBe('bounds');
    const first = frameHeaderBytes + recordHeaderBytes;
    expect(broken((view) => view.setUint8(first, 0))).toBe('magic');
    expect(broken((view) => view.setUint16(first + reportOffset.port, 0))).toBe('bounds');
    expect(broken((view) => view.setFloat64(first + reportOffset.seq, 0.5, true))).toBe('bounds');
    expect(broken((view) => view.setUint32(first - 4, 257, true))).toBe('bounds');
    expect(broken((view) => view.setUint32(first - 4, 2 ** 30, true))).toBe('truncated');
  });

  it('applies nothing of a refused frame', () => {
    const reader = load(sampleFrame());
    const bad = sampleFrame();
    bad[bad.length - 1] = 0xff;
    expect(() => reader.load(bad)).toThrow(WireError);
    expect(reader.next()).toBe(false);
  });

  it('is the bytes of the latest version', () => {
    const golden = readFileSync(new URL('./golden/frame-v2.bin', import.meta.url));
    expect(Buffer.compare(golden, sampleFrame())).toBe(0);
  });

  it('still reads the bytes of version 1', () => {
    const golden = readFileSync(new URL('./golden/frame-v1.bin', import.meta.url));
    expect(recordsOf(load(golden))).toEqual(recordsOf(load(sampleFrame())));
  });
});

/** Each record, decoded. */
function recordsOf(reader: FrameReader): unknown[] {
  const records: unknown[] = [];
  while (reader.next()) {
    const payload = reader.bytes.slice(reader.offset, reader.offset + reader.length);
    if (reader.type === recordType.report) records.push(readReport(payload));
    if (reader.type === recordType.attributes) records.push(decodeAttributes(payload));
    if (reader.type === recordType.ranks) records.push(decodeRanks(payload));
    if (reader.type === recordType.gone) records.push(decodeGone(payload));
  }
  return records;
}

describe('attributes', () => {
  it('tell an empty adapter set from one never stated', () => {
    const decoded = decodeAttributes(encodeAttributes(attributes).bytes);
    expect(decoded.loraRunning).toEqual([]);
    expect(decoded.loraWaiting).toBeUndefined();
  });

  it('leave out and count what does not fit, adapters last', () => {
    const many = Array.from({ length: 60 }, (_, i) => `adapter-${i}-${'x'.repeat(40)}`);
    const { bytes, dropped } = encodeAttributes({ ...attributes, loraRunning: many });
    const decoded = decodeAttributes(bytes);
    expect(decoded.podName).toBe('model-0');
    expect(decoded.loraRunning?.length).toBe(60 - dropped);
    expect(dropped).toBeGreaterThan(0);
  });

  it('refuse text that is not UTF-8', () => {
    const { bytes } = encodeAttributes(attributes);
    bytes[44] = 0xff;
    expect(() => decodeAttributes(bytes)).toThrow(WireError);
  });
});
