/**
 * `npm run bench -- ingest`: reports per second of CPU from frames into the fleet view, in batches
 * of 16 (a node of 16 pods), among 1,000 endpoints. `ratio` is against the obvious way to do it: decode
 * every report into an object and keep the newest in a Map by "uid/port".
 */

import { FrameIngest } from '@leadsman/collector';
import { createView } from '@leadsman/view/layout';
import { ViewWriter } from '@leadsman/view/writer';
import {
  FrameReader,
  FrameWriter,
  metricsCount,
  podKeyFromUid,
  type Report,
  readReport,
  recordType,
  reportBytes,
  targetText,
  writeReport,
} from '@leadsman/wire';
import type { BenchOptions } from './main.ts';

export const about = 'reports/s from frames into the fleet view, against a Map of objects';

const endpoints = 1_000;
const batch = 16;
/** Frames that exist before the clock starts; each is used once per round, always newer. */
const frameCount = Math.ceil(endpoints / batch) * 40;

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const frames = makeFrames();
  const reports = frames.length * batch;
  const rounds = options.smoke ? 1 : 12;
  // Alternating rounds, so that a noisy neighbour hits both alike; the first only warms up.
  const viewRounds: number[] = [];
  const mapRounds: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    viewRounds.push(ingestIntoView(frames));
    mapRounds.push(ingestIntoMap(frames));
  }
  const viewS = median(viewRounds.slice(1));
  const mapS = median(mapRounds.slice(1));
  const result = {
    endpoints,
    batch,
    reports_per_s: Math.round(reports / viewS),
    ns_per_report: Math.round((viewS / reports) * 1e9),
    map_reports_per_s: Math.round(reports / mapS),
    ratio: Number((mapS / viewS).toFixed(2)),
  };
  if (!options.json) {
    process.stdout.write(
      `fleet view      ${result.reports_per_s} reports/s, ${result.ns_per_report} ns each\n` +
        `Map of objects  ${result.map_reports_per_s} reports/s\nratio ${result.ratio}\n`,
    );
  }
  return result;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function makeFrames(): Uint8Array[] {
  const sender = { id: new Uint8Array(16).fill(1), epoch: 1 };
  const writer = new FrameWriter(sender, 65_536);
  const bytes = new Uint8Array(reportBytes);
  const keys = Array.from({ length: endpoints }, (_, i) => podKeyFromUid(`engine-${i}`));
  const frames: Uint8Array[] = [];
  let count = 0;
  while (frames.length < frameCount) {
    for (let i = 0; i < batch; i++) {
      writeReport(sample(keys[count % endpoints]!, 1 + Math.floor(count / endpoints)), bytes);
      writer.appendReport(bytes, 3);
      count++;
    }
    frames.push(writer.finish());
  }
  return frames;
}

function sample(podKey: Uint8Array, seq: number): Report {
  return {
    podKey,
    address: '10.1.2.3',
    port: 8000,
    rank: 0,
    flags: 0,
    reason: 0,
    engineRanks: 1,
    epoch: 1_700_000_000_000,
    seq,
    ageMs: 2,
    metrics: Float64Array.from({ length: metricsCount }, (_, i) => seq + i / 8),
  };
}

/**
 * CPU time of this thread. Wall time would say how busy the machine is; and what the garbage
 * collector does in other threads is left out, which favours the Map.
 */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function ingestIntoView(frames: readonly Uint8Array[]): number {
  const writer = new ViewWriter(createView({ slotsMax: 2_048 }));
  const ingest = new FrameIngest({ writer, nowMs: 0 });
  const beganMs = cpuMs();
  for (const frame of frames) ingest.receive(frame, 1);
  const endedMs = cpuMs();
  if (ingest.counters.appliedReports !== frames.length * batch) throw new Error('reports lost');
  return (endedMs - beganMs) / 1_000;
}

function ingestIntoMap(frames: readonly Uint8Array[]): number {
  const newest = new Map<string, { report: Report; receivedAtMs: number }>();
  const reader = new FrameReader();
  let applied = 0;
  const beganMs = cpuMs();
  for (const frame of frames) {
    reader.load(frame);
    while (reader.next()) {
      if (reader.type !== recordType.report) continue;
      const report = readReport(
        reader.bytes.subarray(0, reader.offset + reader.length),
        reader.offset,
      );
      const target = targetText(report.podKey, report.port);
      const known = newest.get(target)?.report;
      if (known && (report.epoch - known.epoch || report.seq - known.seq) <= 0) continue;
      newest.set(target, { report, receivedAtMs: 1 });
      applied++;
    }
  }
  const endedMs = cpuMs();
  if (applied !== frames.length * batch) throw new Error('reports lost');
  return (endedMs - beganMs) / 1_000;
}
