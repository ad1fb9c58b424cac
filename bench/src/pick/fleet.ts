/** A fleet view that is fed plausible reports, and the same numbers as plain objects. */

import { FrameIngest } from '@leadsman/collector';
import type { Endpoint } from '@leadsman/scheduling/endpoint';
import { type Random, seededRandom } from '@leadsman/scheduling/random';
import { createView, feedState } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { ViewWriter } from '@leadsman/view/writer';
import {
  FrameWriter,
  metric,
  metricsCount,
  podKeyFromUid,
  podKeyText,
  reportBytes,
  writeReport,
} from '@leadsman/wire';
import type { NaiveEndpoint } from './naive-scorer.ts';

export class BenchFleet {
  readonly endpoints: Endpoint[];
  readonly reader: ViewReader;
  readonly objects: NaiveEndpoint[] = [];
  readonly #ingest: FrameIngest;
  readonly #frames = new FrameWriter({ id: new Uint8Array(16).fill(7), epoch: 1 }, 262_144);
  readonly #report = new Uint8Array(reportBytes);
  readonly #random: Random;
  #seq = 0;

  /** `count` endpoints whose first reports were measured at `nowMs`. */
  constructor(count: number, nowMs: number) {
    const view = createView({ slotsMax: count });
    this.#random = seededRandom(count);
    this.#ingest = new FrameIngest({ writer: new ViewWriter(view), nowMs });
    this.endpoints = Array.from({ length: count }, (_, index) => endpointAt(index));
    this.report(nowMs, 0, 1);
    this.reader = new ViewReader(view);
    this.reader.refresh();
  }

  /** New reports of the `part`-th of `parts` of the endpoints: engines do not report in step. */
  report(nowMs: number, part: number, parts: number): void {
    this.#ingest.tick(nowMs, feedState.synced);
    this.#seq++;
    for (let at = part; at < this.endpoints.length; at += parts) {
      this.#write(at);
      if (this.#frames.appendReport(this.#report, 10)) continue;
      this.#ingest.receive(this.#frames.finish(), nowMs);
      this.#frames.appendReport(this.#report, 10);
    }
    this.#ingest.receive(this.#frames.finish(), nowMs);
  }

  #write(at: number): void {
    const { podName, address, port, destination } = this.endpoints[at]!;
    const object = {
      destination,
      running: Math.floor(this.#random() * 40),
      waiting: Math.floor(this.#random() * 8),
      kvCacheUsage: this.#random() * 0.6,
    };
    this.objects[at] = object;
    const metrics = new Float64Array(metricsCount).fill(Number.NaN);
    metrics[metric.runningRequests] = object.running;
    metrics[metric.waitingRequests] = object.waiting;
    metrics[metric.kvCacheUsageRatio] = object.kvCacheUsage;
    metrics[metric.kvCacheCapacityTokens] = 400_000;
    const podKey = podKeyFromUid(podName);
    const fixed = { podKey, address, port, rank: 0, flags: 0, reason: 0, engineRanks: 1 };
    writeReport({ ...fixed, epoch: 1, seq: this.#seq, ageMs: 10, metrics }, this.#report);
  }
}

function endpointAt(index: number): Endpoint {
  const address = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  const podName = `engine-${index}`;
  return {
    index,
    podKey: podKeyText(podKeyFromUid(podName)),
    address,
    port: 8000,
    rank: 0,
    destination: `${address}:8000`,
    podName,
    namespace: 'bench',
    labels: {},
  };
}
