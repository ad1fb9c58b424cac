/**
 * A report: what one scrape of one target said, normalised. Flat and of one size per version, so
 * that it can be copied into a slot of the fleet view word by word. Drawn in report-layout.ts, with
 * the rule by which versions read each other.
 */
import { readAddress, writeAddress } from './address.ts';
import { WireError, wireErrorCode } from './error.ts';
import { counterMax, ranksMax, reportBytes, reportBytesMin } from './limits.ts';
import { metricsCount } from './metric.ts';
import { podKeyBytes, podKeyText } from './pod-key.ts';
import { reportFormat, reportMagic, reportOffset } from './report-layout.ts';

/** Bits of the flags byte. */
export const reportFlag = {
  /** Every rank of the engine sleeps: it answers only after waking up. */
  sleeping: 1,
  /** Gauges claim work while every token counter stands still: do not trust them. */
  suspect: 2,
  /** Scraped by the node's agent, as the pod has no sidecar. */
  byAgent: 4,
} as const;

/** A report in memory. `metrics` has one float64 per {@link metricsCount}, NaN = unknown. */
export interface Report {
  podKey: Uint8Array;
  address: string;
  port: number;
  /** Position of the port among the pod's serving ports; 0 for pods with one. */
  rank: number;
  flags: number;
  reason: number;
  /** Ranks the page spoke of (data parallel); 1 for most. */
  engineRanks: number;
  epoch: number;
  seq: number;
  ageMs: number;
  metrics: Float64Array;
}

/**
 * Writes `report` at `offset` of `into`, which must have {@link reportBytes} left there.
 * Throws {@link WireError} when a field is out of bounds; then nothing usable was written.
 */
export function writeReport(report: Report, into: Uint8Array, offset = 0): void {
  if (into.length - offset < reportBytes) bounds('no room for a report');
  if (report.podKey.length !== podKeyBytes) bounds('pod key');
  if (report.metrics.length !== metricsCount) bounds('metrics');
  mustBeInteger(report.port, 1, 0xffff, 'port');
  mustBeInteger(report.rank, 0, 0xffff, 'rank');
  mustBeInteger(report.engineRanks, 0, ranksMax, 'engine ranks');
  mustBeInteger(report.epoch, 1, counterMax, 'epoch');
  mustBeInteger(report.seq, 1, counterMax, 'seq');
  if (!(report.ageMs >= 0 && report.ageMs <= counterMax)) bounds('age');
  const view = new DataView(into.buffer, into.byteOffset + offset, reportBytes);
  view.setUint32(reportOffset.magic, reportMagic, true);
  view.setUint8(reportOffset.format, reportFormat);
  view.setUint8(reportOffset.flags, report.flags);
  view.setUint16(reportOffset.size, reportBytesMin, true);
  into.set(report.podKey, offset + reportOffset.podKey);
  writeAddress(report.address, into, offset + reportOffset.address);
  view.setUint16(reportOffset.port, report.port, true);
  view.setUint16(reportOffset.rank, report.rank, true);
  view.setUint8(reportOffset.reason, report.reason);
  view.setUint8(reportOffset.engineRanks, report.engineRanks);
  view.setUint16(reportOffset.metricsCount, metricsCount, true);
  view.setFloat64(reportOffset.epoch, report.epoch, true);
  view.setFloat64(reportOffset.seq, report.seq, true);
  view.setFloat64(reportOffset.ageMs, report.ageMs, true);
  for (let i = 0; i < metricsCount; i++) {
    view.setFloat64(reportOffset.metrics + i * 8, report.metrics[i] ?? Number.NaN, true);
  }
}

/** Whether the report at `offset`, of at least {@link reportBytesMin}, is one this reader can read. */
export function isReportKnown(view: DataView, offset: number): boolean {
  return view.getUint8(offset + reportOffset.format) === reportFormat;
}

/**
 * Checks the fixed fields of a report of `length` bytes at `offset`. `false`: of a format that this
 * reader does not know, to be skipped. Throws {@link WireError}; allocates nothing when all is well.
 */
export function checkReport(view: DataView, offset: number, length: number): boolean {
  if (length < reportBytesMin) throw new WireError(wireErrorCode.truncated, 'report too short');
  if (view.getUint32(offset, true) !== reportMagic) {
    throw new WireError(wireErrorCode.magic, 'not a report');
  }
  if (!isReportKnown(view, offset)) return false;
  if (view.getUint16(offset + reportOffset.port, true) === 0) bounds('port');
  if (view.getUint8(offset + reportOffset.engineRanks) > ranksMax) bounds('engine ranks');
  mustBeInteger(view.getFloat64(offset + reportOffset.epoch, true), 1, counterMax, 'epoch');
  mustBeInteger(view.getFloat64(offset + reportOffset.seq, true), 1, counterMax, 'seq');
  const ageMs = view.getFloat64(offset + reportOffset.ageMs, true);
  if (!(ageMs >= 0 && ageMs <= counterMax)) bounds('age');
  return true;
}

/**
 * The numbers that have come of a report of `length` bytes that counts `counted`: those, or fewer.
 * A reader of version 1 passes on the count of a longer report, but not all its numbers.
 */
export function statedNumbers(counted: number, length: number): number {
  return Math.min(counted, (length - reportOffset.metrics) >> 3);
}

/**
 * Reads the report of `length` bytes at `offset` into a new object. Throws {@link WireError} on
 * anything else.
 */
export function readReport(
  bytes: Uint8Array,
  offset = 0,
  length: number = bytes.length - offset,
): Report {
  if (length < reportBytesMin) throw new WireError(wireErrorCode.truncated, 'report too short');
  const view = new DataView(bytes.buffer, bytes.byteOffset + offset, length);
  if (!checkReport(view, 0, length)) {
    throw new WireError(wireErrorCode.version, 'report of a format that is not known');
  }
  const counted = view.getUint16(reportOffset.metricsCount, true);
  const known = Math.min(metricsCount, statedNumbers(counted, length));
  const metrics = new Float64Array(metricsCount).fill(Number.NaN);
  for (let i = 0; i < known; i++) {
    metrics[i] = view.getFloat64(reportOffset.metrics + i * 8, true);
  }
  const keyAt = offset + reportOffset.podKey;
  return {
    podKey: bytes.slice(keyAt, keyAt + podKeyBytes),
    address: readAddress(bytes, offset + reportOffset.address),
    port: view.getUint16(reportOffset.port, true),
    rank: view.getUint16(reportOffset.rank, true),
    flags: view.getUint8(reportOffset.flags),
    reason: view.getUint8(reportOffset.reason),
    engineRanks: view.getUint8(reportOffset.engineRanks),
    epoch: view.getFloat64(reportOffset.epoch, true),
    seq: view.getFloat64(reportOffset.seq, true),
    ageMs: view.getFloat64(reportOffset.ageMs, true),
    metrics,
  };
}

/** The identity of the target a report speaks of, as map key: `<uid>/<port>`. */
export function targetText(podKey: Uint8Array, port: number): string {
  return `${podKeyText(podKey)}/${port}`;
}

function mustBeInteger(value: number, min: number, max: number, what: string): void {
  if (!Number.isInteger(value) || value < min || value > max) bounds(what);
}

function bounds(what: string): never {
  throw new WireError(wireErrorCode.bounds, `out of bounds: ${what}`);
}
