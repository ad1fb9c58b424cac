/** Frames and reports for the tests of the batcher, and a reader that collects what was sent. */
import {
  compareOrder,
  decodeAttributes,
  decodeGone,
  encodeAttributes,
  encodeGone,
  encodeRanks,
  FrameReader,
  FrameWriter,
  metric,
  metricsCount,
  podKeyFromUid,
  podKeyText,
  readReport,
  recordType,
  reportBytes,
  verdict,
  writeAddress,
  writeReport,
} from '@leadsman/wire';

export interface ReportFacts {
  uid: string;
  port?: number;
  address?: string;
  epoch?: number;
  seq: number;
  ageMs?: number;
  waiting?: number;
}

export function reportOf(facts: ReportFacts): Uint8Array {
  const metrics = new Float64Array(metricsCount).fill(Number.NaN);
  metrics[metric.waitingRequests] = facts.waiting ?? facts.seq;
  const bytes = new Uint8Array(reportBytes);
  writeReport(
    {
      podKey: podKeyFromUid(facts.uid),
      address: facts.address ?? '10.0.0.1',
      port: facts.port ?? 8000,
      rank: 0,
      flags: 0,
      reason: 0,
      engineRanks: 1,
      epoch: facts.epoch ?? 1,
      seq: facts.seq,
      ageMs: facts.ageMs ?? 0,
      metrics,
    },
    bytes,
  );
  return bytes;
}

export function attributesOf(uid: string, revision: number, models: string[] = ['m']): Uint8Array {
  return encodeAttributes({
    podKey: podKeyFromUid(uid),
    port: 8000,
    epoch: 1,
    revision,
    podName: uid,
    namespace: 'n',
    nodeName: '',
    engine: 'vllm',
    engineVersion: '',
    metricsPort: '',
    reporter: 'sidecar',
    models,
    loraRunning: undefined,
    loraWaiting: undefined,
  }).bytes;
}

export function ranksOf(uid: string, seq: number): Uint8Array {
  const ranks = [0, 1].map((rank) => ({
    rank,
    runningRequests: seq,
    waitingRequests: 0,
    kvCacheUsageRatio: 0,
  }));
  return encodeRanks({ podKey: podKeyFromUid(uid), port: 8000, epoch: 1, seq, ranks });
}

export function goneOf(uid: string, seq: number): Uint8Array {
  return encodeGone({ podKey: podKeyFromUid(uid), port: 8000, epoch: 1, seq });
}

/** A frame of one sidecar: `[type, payload]` records. */
export function frameOf(...records: readonly [number, Uint8Array][]): Uint8Array {
  const writer = new FrameWriter({ id: new Uint8Array(16).fill(7), epoch: 1 });
  for (const [type, payload] of records) writer.append(type, payload);
  return writer.finish();
}

export function reportFrame(facts: ReportFacts): Uint8Array {
  return frameOf([recordType.report, reportOf(facts)]);
}

export function peerOf(address: string): Uint8Array {
  const bytes = new Uint8Array(16);
  writeAddress(address, bytes, 0);
  return bytes;
}

/** A collector in miniature: the newest report per target, and every frame's header. */
export class Collected {
  readonly reports = new Map<string, { epoch: number; seq: number; ageMs: number }>();
  readonly attributes = new Map<string, number>();
  readonly gone = new Map<string, number>();
  readonly frames: { kind: number; part: number; parts: number; records: number; seq: number }[] =
    [];
  readonly #reader = new FrameReader();

  add(frame: Uint8Array): void {
    const reader = this.#reader;
    reader.load(frame);
    const { kind, part, parts, records, seq } = reader;
    this.frames.push({ kind, part, parts, records, seq });
    while (reader.next()) {
      const bytes = reader.bytes.slice(reader.offset, reader.offset + reader.length);
      if (reader.type === recordType.report) {
        const { podKey, epoch, seq, ageMs } = readReport(bytes);
        const key = podKeyText(podKey);
        const held = this.reports.get(key);
        const order = held && compareOrder(epoch, seq, held.epoch, held.seq, 0);
        if (order !== verdict.older) this.reports.set(key, { epoch, seq, ageMs });
      } else if (reader.type === recordType.attributes) {
        const { podKey, revision } = decodeAttributes(bytes);
        this.attributes.set(podKeyText(podKey), revision);
      } else if (reader.type === recordType.gone) {
        const { podKey, seq } = decodeGone(bytes);
        this.gone.set(podKeyText(podKey), seq);
      }
    }
  }

  report(uid: string) {
    return this.reports.get(podKeyText(podKeyFromUid(uid)));
  }
}
