/** A sidecar's frames of one pod, made once and changed in place: the senders must cost little. */
import {
  encodeAttributes,
  FrameWriter,
  frameHeaderBytes,
  metricsCount,
  type Report,
  recordHeaderBytes,
  recordType,
  reportBytes,
  writeReport,
} from '@leadsman/wire';
import { podKeyOf, servingPort, writeNumbers } from './plan.ts';

const reportAt = frameHeaderBytes + recordHeaderBytes;

interface Prepared {
  frame: Uint8Array;
  report: Report;
}

export class PodReport {
  readonly pod: number;
  seq = 0;
  lastCount = 0;
  readonly #plain: Prepared;
  readonly #withAttributes: Prepared;
  readonly #epoch: number;

  constructor(pod: number, epoch: number) {
    this.pod = pod;
    this.#epoch = epoch;
    this.#plain = this.#prepare(false);
    this.#withAttributes = this.#prepare(true);
  }

  /** The frame of the next report; valid until the next call. */
  next(count: number, ageMs: number, attributes: boolean): Uint8Array {
    const { frame, report } = attributes ? this.#withAttributes : this.#plain;
    this.seq++;
    this.lastCount = count;
    report.seq = this.seq;
    report.ageMs = ageMs;
    writeNumbers(this.pod, count, report.metrics);
    writeReport(report, frame, reportAt);
    return frame;
  }

  #prepare(attributes: boolean): Prepared {
    const podKey = podKeyOf(this.pod);
    const port = servingPort;
    const report: Report = {
      podKey,
      address: `10.${this.pod >> 16}.${(this.pod >> 8) & 255}.${this.pod & 255}`,
      port,
      rank: 0,
      flags: 0,
      reason: 0,
      engineRanks: 1,
      epoch: this.#epoch,
      seq: 1,
      ageMs: 0,
      metrics: new Float64Array(metricsCount),
    };
    const bytes = new Uint8Array(reportBytes);
    writeReport(report, bytes);
    const writer = new FrameWriter({ id: new Uint8Array(16).fill(1), epoch: this.#epoch }, 4_096);
    writer.append(recordType.report, bytes);
    if (attributes) writer.append(recordType.attributes, this.#attributes(podKey, port));
    const frame = writer.finish();
    return { frame, report };
  }

  #attributes(podKey: Uint8Array, port: number): Uint8Array {
    return encodeAttributes({
      podKey,
      port,
      epoch: this.#epoch,
      revision: 1,
      podName: `llama-3-70b-instruct-${this.pod}-7d9f8c6b5-x2x4z`,
      namespace: 'inference',
      nodeName: `gpu-node-${this.pod % 1_000}.example.internal`,
      engine: 'vllm',
      engineVersion: '0.11.0',
      metricsPort: '8000',
      reporter: 'sidecar',
      models: ['meta-llama/Llama-3.3-70B-Instruct'],
      loraRunning: [],
      loraWaiting: [],
    }).bytes;
  }
}
