/** Made-up frames for this package's tests. */

import { type SampleOptions, sampleReport } from '@leadsman/view/sample-report';
import {
  type Attributes,
  encodeAttributes,
  encodeGone,
  encodeRanks,
  type FrameKind,
  FrameWriter,
  frameKind,
  podKeyFromUid,
  recordType,
  reportBytes,
  writeReport,
} from '@leadsman/wire';

/** A sender that numbers its frames. */
export class SampleSender {
  readonly #writer: FrameWriter;

  constructor(id = 1, epoch = 1) {
    this.#writer = new FrameWriter({ id: new Uint8Array(16).fill(id), epoch });
  }

  /** One frame of the given records. */
  frame(records: readonly SampleRecord[], kind: FrameKind = frameKind.changes): Uint8Array {
    for (const { type, bytes } of records) this.#writer.append(type, bytes);
    return this.#writer.finish(kind);
  }
}

export interface SampleRecord {
  type: number;
  bytes: Uint8Array;
}

export function reportRecord(options: SampleOptions = {}): SampleRecord {
  const bytes = new Uint8Array(reportBytes);
  writeReport(sampleReport(options), bytes);
  return { type: recordType.report, bytes };
}

export function sampleAttributes(
  options: { uid?: string; port?: number } & Partial<Attributes> = {},
): Attributes {
  return {
    epoch: 1,
    revision: 1,
    podName: 'engine-0',
    namespace: 'default',
    nodeName: 'node-a',
    engine: 'vllm',
    engineVersion: '0.11.0',
    metricsPort: '8000',
    reporter: 'sidecar',
    models: ['tiny'],
    loraRunning: undefined,
    loraWaiting: undefined,
    ...options,
    podKey: podKeyFromUid(options.uid ?? 'pod-a'),
    port: options.port ?? 8000,
  };
}

export function attributesRecord(
  options: Parameters<typeof sampleAttributes>[0] = {},
): SampleRecord {
  return {
    type: recordType.attributes,
    bytes: encodeAttributes(sampleAttributes(options)).bytes,
  };
}

export function goneRecord(options: SampleOptions): SampleRecord {
  const { podKey, port, epoch, seq } = sampleReport(options);
  return { type: recordType.gone, bytes: encodeGone({ podKey, port, epoch, seq }) };
}

export function ranksRecord(options: SampleOptions, waiting: readonly number[]): SampleRecord {
  const { podKey, port, epoch, seq } = sampleReport(options);
  const ranks = waiting.map((waitingRequests, rank) => ({
    rank,
    runningRequests: 1,
    waitingRequests,
    kvCacheUsageRatio: Number.NaN,
  }));
  return { type: recordType.ranks, bytes: encodeRanks({ podKey, port, epoch, seq, ranks }) };
}
