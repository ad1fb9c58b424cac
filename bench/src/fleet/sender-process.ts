/**
 * Entry of the process that plays all nodes. A wheel of one-millisecond steps calls each pod when
 * its scrape would end; what the pod then reports is what its engine showed when it began.
 */
import { monotonicMs } from '@leadsman/service';
import type { SenderCommand, SenderMessage, SenderTask } from './messages.ts';
import { countOf } from './plan.ts';
import { PodReport } from './pod-report.ts';
import { agentSender, podSender, type Sender, type SenderCounters } from './senders.ts';

/** Intervals vary by 10 %, as sidecars' do: targets that begin together do not stay together. */
const jitter = 0.1;
/** A sidecar repeats its attributes each second. */
const attributesEveryMs = 1_000;
const wheelMs = 4_096;

const task = JSON.parse(process.argv[2] ?? '{}') as SenderTask;
const { plan } = task;
const pods = plan.nodes * plan.podsPerNode;
const counters: SenderCounters = { frames: 0, frameBytes: 0, dropped: 0 };
const epoch = Date.now();
const reports = Array.from({ length: pods }, (_, pod) => new PodReport(pod, epoch));
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

function plant(pod: number, atMs: number): void {
  dueMs[pod] = atMs;
  wheel[Math.floor(atMs) % wheelMs]?.push(pod);
}

function report(pod: number, nowMs: number): void {
  const due = dueMs[pod] as number;
  mostLateMs = Math.max(mostLateMs, nowMs - due);
  const readAtMs = due - plan.scrapeMs;
  const withAttributes = nowMs >= (attributesMs[pod] as number);
  if (withAttributes) attributesMs[pod] = nowMs + attributesEveryMs;
  const count = countOf(plan, pod, readAtMs);
  const frame = reports[pod]?.next(count, nowMs - readAtMs, withAttributes);
  if (frame !== undefined) senders[senderOf(pod)]?.take(frame);
  made++;
  const nextMs = due + plan.intervalMs * (1 + jitter * (Math.random() - 0.5));
  plant(pod, Math.max(nextMs, nowMs + 1));
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
      if ((dueMs[pod] as number) > nowMs) plant(pod, dueMs[pod] as number);
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
for (let pod = 0; pod < pods; pod++) plant(pod, wheelAt + 2 + Math.random() * plan.intervalMs);
const turning = setInterval(turn, 1);
const telling = setInterval(status, 250);
process.on('message', (command: SenderCommand) => void obey(command));
process.on('disconnect', () => process.exit(0));
