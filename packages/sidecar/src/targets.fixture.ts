/** Targets whose state tests set by hand; they are never started. */
import { PageReader, paceDefaults, suspicionDefaults, Target } from '@leadsman/scrape';

export interface Hands {
  target: Target;
  /** Takes in a page as if it had just been scraped. */
  read(page: string): void;
}

export function createTarget(port: number, nowMs: () => number = () => 0): Hands {
  const reader = new PageReader();
  const target = new Target(
    {
      identity: {
        podUid: 'pod-1',
        podName: 'llama-0',
        namespace: 'team',
        nodeName: 'n1',
        address: '127.0.0.1',
        port,
        rank: 0,
        reporter: 'sidecar',
        metricsPort: String(port),
      },
      fetch: {
        url: `http://127.0.0.1:${port}/metrics`,
        timeoutMs: 1_000,
        bytesMax: 1_000_000,
        tokenFile: '',
        localAddress: '',
        tlsCaFile: '',
        tlsVerify: true,
      },
      pace: paceDefaults,
      suspicion: suspicionDefaults,
      engine: 'vllm',
    },
    {
      reader,
      clock: { nowMs, unixMs: () => 1_000 },
      random: () => 0.5,
      onReport: () => {},
    },
  );
  return {
    target,
    read(page) {
      const outcome = reader.read(Buffer.from(page), 'vllm');
      if (!('reading' in outcome)) throw new Error(outcome.detail);
      target.state.succeed(outcome.reading, nowMs(), 1);
    },
  };
}

/** A page of `ranks` data-parallel ranks. */
export function pageOf(ranks: number, running = 1): string {
  return Array.from(
    { length: ranks },
    (_, rank) => `vllm:num_requests_running{engine="${rank}",model_name="m"} ${running}\n`,
  ).join('');
}
