/** A fleet view with a writer, for this package's tests: endpoints report what a test says. */

import { FrameIngest } from '@leadsman/collector';
import { monotonicMs } from '@leadsman/service';
import { createView } from '@leadsman/view/layout';
import { ViewWriter } from '@leadsman/view/writer';
import {
  FrameWriter,
  metric,
  metricsCount,
  podKeyFromUid,
  reason,
  reportBytes,
  writeReport,
} from '@leadsman/wire';

export interface SampleReport {
  uid: string;
  address?: string;
  port?: number;
  epoch?: number;
  runningRequests?: number;
  waitingRequests?: number;
  kvCacheUsageRatio?: number;
  scrapeIntervalMs?: number;
  /** Default: ok. */
  reason?: number;
}

export class SampleFleet {
  readonly view: ArrayBufferLike;
  readonly #ingest: FrameIngest;
  readonly #frames = new FrameWriter({ id: new Uint8Array(16).fill(7), epoch: 1 });
  #seq = 0;

  constructor(slotsMax = 64) {
    this.view = createView({ slotsMax });
    const writer = new ViewWriter(this.view);
    this.#ingest = new FrameIngest({ writer, nowMs: monotonicMs() });
  }

  /** One frame with a report of each; numbers that are not given are unknown. */
  report(...reports: readonly SampleReport[]): void {
    const bytes = new Uint8Array(reportBytes);
    for (const report of reports) {
      this.#seq++;
      const metrics = new Float64Array(metricsCount).fill(Number.NaN);
      metrics[metric.runningRequests] = report.runningRequests ?? Number.NaN;
      metrics[metric.waitingRequests] = report.waitingRequests ?? Number.NaN;
      metrics[metric.scrapeIntervalMs] = report.scrapeIntervalMs ?? Number.NaN;
      metrics[metric.kvCacheUsageRatio] = report.kvCacheUsageRatio ?? Number.NaN;
      const value = {
        podKey: podKeyFromUid(report.uid),
        address: report.address ?? '10.0.0.1',
        port: report.port ?? 8000,
        rank: 0,
        flags: 0,
        reason: report.reason ?? reason.ok,
        engineRanks: 1,
        epoch: report.epoch ?? 1,
        seq: this.#seq,
        ageMs: 0,
        metrics,
      };
      writeReport(value, bytes);
      this.#frames.appendReport(bytes, 0);
    }
    this.#ingest.receive(this.#frames.finish(), monotonicMs());
  }
}
