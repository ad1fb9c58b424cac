/**
 * The polling baseline: one process that scrapes pods by HTTP at the fleet's interval, at growing
 * numbers of pods, up to what it can carry.
 */
import type { ChildProcess } from 'node:child_process';
import { endChild, nextMessage, startChild } from './child.ts';

export interface PollingResult {
  /** Most pods whose interval it kept (95 % of the scrapes that were due). */
  podsCarried: number;
  pageBytes: number;
  /** CPU per known pod and second at that size, µs. */
  cpuUsPerPodS: number;
  cpuUsPerScrape: number;
}

interface PollerStatus {
  scrapes: number;
  failed: number;
  cpuUs: number;
  atMs: number;
}

export interface PollingOptions {
  intervalMs: number;
  measureMs: number;
  podsMax: number;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function statusOf(poller: ChildProcess): Promise<PollerStatus> {
  const answer = nextMessage<PollerStatus>(poller);
  poller.send('status');
  return answer;
}

export async function measurePolling(options: PollingOptions): Promise<PollingResult> {
  const server = startChild('./page-server-process.ts', {});
  const { port, bytes } = await nextMessage<{ port: number; bytes: number }>(server);
  let result: PollingResult = {
    podsCarried: 0,
    pageBytes: bytes,
    cpuUsPerPodS: Number.NaN,
    cpuUsPerScrape: Number.NaN,
  };
  try {
    for (let pods = Math.min(5, options.podsMax); pods <= options.podsMax; pods *= 2) {
      const measured = await measureSize(port, pods, options);
      if (measured.kept < 0.95 && result.podsCarried > 0) break;
      result = {
        podsCarried: measured.kept < 0.95 ? 0 : pods,
        pageBytes: bytes,
        cpuUsPerPodS: Math.round(measured.cpuUsPerPodS),
        cpuUsPerScrape: Math.round(measured.cpuUsPerScrape),
      };
      if (measured.kept < 0.95) break;
    }
  } finally {
    await endChild(server);
  }
  return result;
}

async function measureSize(port: number, pods: number, options: PollingOptions) {
  const { intervalMs, measureMs } = options;
  const poller = startChild('./poller-process.ts', { port, pods, intervalMs });
  try {
    await nextMessage(poller);
    // The first second is the engine's (V8's) warming up, and belongs to no one.
    await sleep(Math.min(1_000, measureMs));
    const before = await statusOf(poller);
    await sleep(measureMs);
    const after = await statusOf(poller);
    const seconds = (after.atMs - before.atMs) / 1_000;
    const scrapes = after.scrapes - before.scrapes;
    const cpuUs = after.cpuUs - before.cpuUs;
    return {
      kept: scrapes / ((pods * seconds * 1_000) / intervalMs),
      // At the wanted rate, also when it was not quite kept.
      cpuUsPerPodS: (cpuUs / scrapes) * (1_000 / intervalMs),
      cpuUsPerScrape: cpuUs / scrapes,
    };
  } finally {
    await endChild(poller);
  }
}
