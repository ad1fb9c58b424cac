/**
 * Entry of the process that plays all nodes. A wheel of one-millisecond steps calls each pod when
 * its scrape would end; what the pod then reports is what its engine showed when it began. When the
 * next one begins is up to a sidecar's own pace, on the grid of its node.
 */
import { gridOfNode, Pace, paceDefaults } from '@leadsman/scrape';
import { monotonicMs } from '@leadsman/service';
import type { SenderCommand, SenderMessage, SenderTask } from './messages.ts';
import { countOf, nodeNameOf } from './plan.ts';
import { PodReport } from './pod-report.ts';
import { agentSender, podSender, type Sender, type SenderCounters } from './senders.ts';

/** A sidecar's timer fires up to this much late, ms. */
const timerLateMs = 1;
/** Scrapes of the same length differ by this share of it, up and down. */
const durationSpread = 0.3;
/** A sidecar repeats its attributes each second. */
const attributesEveryMs = 1_000;
const wheelMs = 4_096;

const task = JSON.parse(process.argv[2] ?? '{}') as SenderTask;
const { plan } = task;
const pods = plan.nodes * plan.podsPerNode;
const counters: SenderCounters = { frames: 0, frameBytes: 0, dropped: 0 };
const epoch = Date.now();
const reports = Array.from({ length: pods }, (_, pod) => new PodReport(pod, epoch));
const paces = Array.from({ length: pods }, (_, pod) => {
  const grid = gridOfNode(nodeNameOf(Math.floor(pod / plan.podsPerNode)), plan.intervalMs);
  const { intervalMs } = plan;
  // The share that scraping may take is not at issue here: a long `--scrape-ms` keeps the interval.
  return new Pace({ ...paceDefaults, intervalMs, share: 1, grid }, Math.random);
});
/** When the scrape that is under way began, and when it will have ended. */
const beganMs = new Float64Array(pods);
const dueMs = new Float64Array(pods);
const attributesMs = new Float64Array(pods);
const wheel: number[][] = Array.from({ length: wheelMs }, () => []);
const senders: Sender[] = [];
let made = 0;
let mostLateMs = 0;
let wheelAt = Math.floor(monotonicMs());

const senderOf = (pod: number) =>
  task.exporter === 'pod' ? pod : Math.floor(pod / plan.podsPerNode);

function open(index: number): Sender {
  return task.exporter === 'pod'
    ? podSender(task, index, counters)
    : agentSender(task, index, counters);
}

function plant(pod: number): void {
  wheel[Math.floor(dueMs[pod] as number) % wheelMs]?.push(pod);
}

function beginScrape(pod: number, atMs: number): void {
  const factor = 1 + durationSpread * (2 * Math.random() - 1);
  beganMs[pod] = atMs + timerLateMs * Math.random();
  dueMs[pod] = (beganMs[pod] as number) + plan.scrapeMs * factor;
  plant(pod);
}

function report(pod: number, nowMs: number): void {
  const due = dueMs[pod] as number;
  mostLateMs = Math.max(mostLateMs, nowMs - due);
  const readAtMs = beganMs[pod] as number;
  const withAttributes = nowMs >= (attributesMs[pod] as number);
  if (withAttributes) attributesMs[pod] = nowMs + attributesEveryMs;
  const count = countOf(plan, pod, readAtMs);
  const frame = reports[pod]?.next(count, nowMs - readAtMs, withAttributes);
  if (frame !== undefined) senders[senderOf(pod)]?.take(frame);
  made++;
  const durationMs = due - readAtMs;
  const delayMs = paces[pod]?.next({ durationMs, failed: false, idle: false }, due) ?? Number.NaN;
  beginScrape(pod, Math.max(due + delayMs, nowMs));
}

function turn(): void {
  const nowMs = monotonicMs();
  // After a pause longer than the wheel everything is due once.
  wheelAt = Math.max(wheelAt, Math.floor(nowMs) - wheelMs + 1);
  for (; wheelAt < nowMs - 1; wheelAt++) {
    const step = wheel[wheelAt % wheelMs] as number[];
    if (step.length === 0) continue;
    const due = step.splice(0);
    for (const pod of due) {
      if ((dueMs[pod] as number) > nowMs) plant(pod);
      else report(pod, nowMs);
    }
  }
}

function tell(message: SenderMessage): void {
  process.send?.(message);
}

function status(): void {
  const cpu = process.cpuUsage();
  tell({
    type: 'status',
    connected: senders.filter((sender) => sender.connected).length,
    senders: senders.length,
    cpuUs: cpu.user + cpu.system,
    rssBytes: process.memoryUsage.rss(),
    reports: made,
    ...counters,
    mostLateMs,
  });
}

async function obey(command: SenderCommand): Promise<void> {
  if (command.type === 'measure') {
    mostLateMs = 0;
    return;
  }
  if (command.type === 'restart') {
    await Promise.all(
      command.nodes.map(async (node) => {
        await senders[node]?.stop();
        senders[node] = open(node);
      }),
    );
    return;
  }
  clearInterval(turning);
  clearInterval(telling);
  // The last reports leave with the window that is open.
  setTimeout(() => {
    tell({ type: 'done', lastCounts: reports.map((pod) => pod.lastCount) });
  }, 300);
}

for (let i = 0; i < (task.exporter === 'pod' ? pods : plan.nodes); i++) senders.push(open(i));
for (let pod = 0; pod < pods; pod++) {
  beginScrape(pod, wheelAt + 2 + (paces[pod]?.firstDelayMs(wheelAt + 2) ?? Number.NaN));
}
const turning = setInterval(turn, 1);
const telling = setInterval(status, 250);
process.on('message', (command: SenderCommand) => void obey(command));
process.on('disconnect', () => process.exit(0));
