/**
 * Entry of the polling baseline: a picker that scrapes every pod itself, with the same HTTP client
 * and the same parser that our sidecar uses for its one pod.
 */
import { isPage, PageFetcher, PageReader } from '@leadsman/scrape';
import { monotonicMs } from '@leadsman/service';

interface PollTask {
  port: number;
  pods: number;
  intervalMs: number;
}

const task = JSON.parse(process.argv[2] ?? '{}') as PollTask;
const reader = new PageReader();
let scrapes = 0;
let failed = 0;
let stopping = false;

async function poll(): Promise<void> {
  const fetcher = new PageFetcher(
    {
      url: `http://127.0.0.1:${task.port}/metrics`,
      timeoutMs: 5_000,
      bytesMax: 1_048_576,
      tokenFile: '',
      localAddress: '',
      tlsCaFile: '',
      tlsVerify: true,
    },
    monotonicMs,
  );
  let nextMs = monotonicMs() + Math.random() * task.intervalMs;
  while (!stopping) {
    const waitMs = nextMs - monotonicMs();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    nextMs = Math.max(nextMs + task.intervalMs, monotonicMs());
    const result = await fetcher.fetch();
    if (isPage(result) && 'reading' in reader.read(result.bytes, 'vllm')) scrapes++;
    else failed++;
  }
}

for (let pod = 0; pod < task.pods; pod++) void poll();
process.on('message', () => {
  const cpu = process.cpuUsage();
  process.send?.({ scrapes, failed, cpuUs: cpu.user + cpu.system, atMs: monotonicMs() });
});
process.on('disconnect', () => {
  stopping = true;
  process.exit(0);
});
process.send?.('ready');
