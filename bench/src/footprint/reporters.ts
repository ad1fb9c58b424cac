/** Sixteen sidecars as an agent sees them: each posts one small frame every interval. */
import { agentSink } from '@leadsman/link/agent';
import {
  FrameWriter,
  frameKind,
  metric,
  metricsCount,
  podKeyFromUid,
  type Report,
  reportBytes,
  writeReport,
} from '@leadsman/wire';

export interface Reporters {
  stop(): Promise<void>;
}

/** Reports come from 127.0.0.1, as do the POSTs: the agent believes them. */
export function startReporters(agentUrl: string, count: number, everyMs: number): Reporters {
  const all = Array.from({ length: count }, (_, i) => startReporter(agentUrl, i, everyMs));
  return {
    stop: async () => {
      await Promise.all(all.map((one) => one.stop()));
    },
  };
}

function startReporter(url: string, index: number, everyMs: number): Reporters {
  const sink = agentSink({ url });
  const writer = new FrameWriter({ id: new Uint8Array(16).fill(index + 1), epoch: 1 });
  const bytes = new Uint8Array(reportBytes);
  const report: Report = {
    podKey: podKeyFromUid(`bench-${index}`),
    address: '127.0.0.1',
    port: 8_000,
    rank: 0,
    flags: 0,
    reason: 0,
    engineRanks: 1,
    epoch: 1,
    seq: 0,
    ageMs: 1,
    metrics: new Float64Array(metricsCount),
  };
  const timer = setInterval(() => {
    report.seq++;
    report.metrics[metric.runningRequests] = report.seq % 17;
    writeReport(report, bytes);
    writer.appendReport(bytes, 0);
    sink.send(writer.finish(frameKind.changes));
  }, everyMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await sink.close();
    },
  };
}
