/**
 * Made-up reports for this package's tests: every number of a report is derived from one value, so
 * that a mixture of two reports gives itself away.
 */
import {
  metricsCount,
  podKeyFromUid,
  type Report,
  reason,
  reportBytes,
  writeReport,
} from '@leadsman/wire';

export interface SampleOptions {
  uid?: string;
  port?: number;
  address?: string;
  epoch?: number;
  seq?: number;
  ageMs?: number;
  /** All numbers; default the seq. */
  value?: number;
  flags?: number;
  reason?: number;
  engineRanks?: number;
}

export function sampleReport(options: SampleOptions = {}): Report {
  const seq = options.seq ?? 1;
  return {
    podKey: podKeyFromUid(options.uid ?? 'pod-a'),
    address: options.address ?? '10.0.0.7',
    port: options.port ?? 8000,
    rank: 0,
    flags: options.flags ?? 0,
    reason: options.reason ?? reason.ok,
    engineRanks: options.engineRanks ?? 1,
    epoch: options.epoch ?? 1,
    seq,
    ageMs: options.ageMs ?? 0,
    metrics: new Float64Array(metricsCount).fill(options.value ?? seq),
  };
}

/** A report's wire words under both types that a view takes. */
export function sampleWords(options: SampleOptions = {}): {
  floats: Float64Array;
  ints: Int32Array;
} {
  const bytes = new Uint8Array(reportBytes);
  writeReport(sampleReport(options), bytes);
  return { floats: new Float64Array(bytes.buffer), ints: new Int32Array(bytes.buffer) };
}
