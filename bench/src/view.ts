/**
 * `npm run bench -- view`: the fleet view with 10,000 endpoints: memory of the view and its
 * indexes, the writer's share of a core at 20 reports/s each, and what a reader's refresh costs
 * when nothing, 1 % or everything changed.
 */

import { FrameIngest } from '@leadsman/collector';
import { Departures } from '@leadsman/collector/watch/departures';
import { ViewFrames } from '@leadsman/collector/watch/view-frames';
import { createView } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { ViewWriter } from '@leadsman/view/writer';
import {
  encodeAttributes,
  FrameWriter,
  metricsCount,
  podKeyFromUid,
  recordType,
  reportBytes,
  writeReport,
} from '@leadsman/wire';
import type { BenchOptions } from './main.ts';

export const about = 'memory and refresh cost of a fleet view with 10,000 endpoints';

const endpoints = 10_000;
const reportsPerSecond = 20;

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const fleet = new SyntheticFleet();
  globalThis.gc?.();
  const beforeBytes = process.memoryUsage().rss;
  const writer = new ViewWriter(fleet.shared);
  const ingest = new FrameIngest({ writer, nowMs: 0 });
  const reader = new ViewReader(fleet.shared);
  for (const frame of fleet.frames(0, endpoints, true)) ingest.receive(frame, 1);
  reader.refresh();
  let models = 0;
  for (let slot = 0; slot < reader.slots; slot++) {
    models += reader.attributes(slot)?.models.length ?? 0;
  }
  if (models !== endpoints) throw new Error('attributes lost');
  globalThis.gc?.();
  const memoryBytes = process.memoryUsage().rss - beforeBytes;

  const rounds = options.smoke ? 3 : 60;
  const [none, few, all] = [[], [], []] as [number[], number[], number[]];
  const ingestMs: number[] = [];
  const watchMs: number[] = [];
  // A group of watchers at 50 ms: its own reader, frames of all changes, a keyframe each second.
  const watched = new ViewReader(fleet.shared);
  const nobodyLeft = new Departures(1);
  const watchFrames = new ViewFrames(watched, nobodyLeft, { id: new Uint8Array(16), epoch: 1 });
  const measure = (changed: number, into: number[]) => {
    for (const frame of fleet.frames(0, changed, false)) ingest.receive(frame, 2);
    const beganMs = performance.now();
    reader.refresh();
    into.push((performance.now() - beganMs) * 1_000);
    if (reader.changedCount !== changed) throw new Error('changes lost');
  };
  for (let round = 0; round < rounds; round++) {
    const frames = fleet.frames(0, endpoints, false);
    const beganMs = cpuMs();
    for (const frame of frames) ingest.receive(frame, 2);
    ingestMs.push(cpuMs() - beganMs);
    const refreshedMs = performance.now();
    reader.refresh();
    all.push((performance.now() - refreshedMs) * 1_000);
    const watchedMs = cpuMs();
    watched.refresh();
    watchFrames.changes(0, 2);
    if (round % reportsPerSecond === 0) watchFrames.keyframe(2, true);
    watchMs.push(cpuMs() - watchedMs);
    measure(endpoints / 100, few);
    // A commit without a change, so that every slot is looked at.
    writer.commit();
    measure(0, none);
  }
  const result = {
    endpoints,
    memory_mb: Number((memoryBytes / 1e6).toFixed(1)),
    address_space_mb: Number((fleet.shared.byteLength / 1e6).toFixed(1)),
    writer_core_share_at_20_per_s: Number(
      ((median(ingestMs) * reportsPerSecond) / 1_000).toFixed(4),
    ),
    watch_core_share_at_20_per_s: Number(((mean(watchMs) * reportsPerSecond) / 1_000).toFixed(4)),
    refresh_us: {
      unchanged: Number(median(none).toFixed(1)),
      one_percent: Number(median(few).toFixed(1)),
      all: Number(median(all).toFixed(1)),
    },
  };
  if (!options.json) {
    process.stdout.write(
      `${endpoints} endpoints: ${result.memory_mb} MB resident for view, indexes, one reader and ` +
        `its attributes\nwriter at ${reportsPerSecond} reports/s each: ` +
        `${(result.writer_core_share_at_20_per_s * 100).toFixed(1)} % of a core\n` +
        `encoding the same for watchers: ` +
        `${(result.watch_core_share_at_20_per_s * 100).toFixed(1)} %\n` +
        `refresh: unchanged ${result.refresh_us.unchanged} µs, 1 % changed ` +
        `${result.refresh_us.one_percent} µs, all changed ${result.refresh_us.all} µs\n`,
    );
  }
  return result;
}

/** CPU time of this thread: the share of a core must not depend on who else runs here. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Frames of nodes with 16 pods each; every call states newer reports. */
class SyntheticFleet {
  readonly shared = createView({ slotsMax: 16_384 });
  readonly #keys = Array.from({ length: endpoints }, (_, i) => podKeyFromUid(`engine-${i}`));
  readonly #writer = new FrameWriter({ id: new Uint8Array(16).fill(1), epoch: 1 }, 65_536);
  readonly #bytes = new Uint8Array(reportBytes);
  #seq = 0;

  frames(from: number, to: number, attributes: boolean): Uint8Array[] {
    this.#seq++;
    const frames: Uint8Array[] = [];
    for (let i = from; i < to; i++) {
      this.#report(i);
      if (attributes) this.#attributes(i);
      if ((i + 1) % 16 === 0) frames.push(this.#writer.finish());
    }
    if (this.#writer.records > 0) frames.push(this.#writer.finish());
    return frames;
  }

  #report(i: number): void {
    writeReport(
      {
        podKey: this.#keys[i]!,
        address: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
        port: 8000,
        rank: 0,
        flags: 0,
        reason: 0,
        engineRanks: 1,
        epoch: 1,
        seq: this.#seq,
        ageMs: 2,
        metrics: new Float64Array(metricsCount).fill(this.#seq),
      },
      this.#bytes,
    );
    this.#writer.appendReport(this.#bytes, 3);
  }

  #attributes(i: number): void {
    const { bytes } = encodeAttributes({
      podKey: this.#keys[i]!,
      port: 8000,
      epoch: 1,
      revision: 1,
      podName: `llama-3-70b-instruct-7f9c6d5b8-${i}`,
      namespace: 'inference',
      nodeName: `gpu-node-${i >> 4}.cluster.internal`,
      engine: 'vllm',
      engineVersion: '0.11.0',
      metricsPort: '8000',
      reporter: 'sidecar',
      models: ['meta-llama/Llama-3.3-70B-Instruct'],
      loraRunning: ['sql-adapter', 'chat-adapter'],
      loraWaiting: [],
    });
    this.#writer.append(recordType.attributes, bytes);
  }
}
