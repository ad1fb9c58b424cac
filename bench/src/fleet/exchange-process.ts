/**
 * Entry of the process that sends ext_proc exchanges at a fixed rate, as a gateway whose clients do
 * not wait for each other: each is due at its time whether or not those before it were answered,
 * and its latency runs from then.
 */
import { connect } from 'node:http2';
import { monotonicMs } from '@leadsman/service';
import { waitUntil } from '@leadsman/testing';
import { exchange, requestOf } from '../ext-proc/exchange-client.ts';
import { DurationHistogram } from './histogram.ts';

export interface ExchangeTask {
  port: number;
  perS: number;
}

/** `measure`: counts from now on. `tell`: waits for what is under way, and tells. */
export type ExchangeCommand = 'measure' | 'tell';

export interface ExchangeResult {
  done: number;
  /** Answered with too little, or not in time. */
  failed: number;
  p50Ms: number;
  p99Ms: number;
}

/** Connections of a gateway's worker threads. */
const connections = 4;
/** Under way at once; more have failed. */
const openMax = 4_096;
/** For the last ones after the end of a measurement, ms. */
const lastWordMs = 2_000;

const task = JSON.parse(process.argv[2] ?? '{}') as ExchangeTask;
const sessions = Array.from({ length: connections }, () => {
  const session = connect(`http://127.0.0.1:${task.port}`);
  session.on('error', () => {});
  return session;
});
const requests = Array.from({ length: 1_024 }, (_, i) => requestOf(`request-${i}`));
const latencies = new DurationHistogram();
const beganMs = monotonicMs();
let sent = 0;
let measured = 0;
let done = 0;
let failed = 0;
let open = 0;
let round = 0;
let measuring = false;

function send(dueMs: number): void {
  const session = sessions[sent % connections];
  const request = requests[sent % requests.length];
  sent++;
  const mine = measuring ? round : -1;
  if (measuring) measured++;
  if (session === undefined || request === undefined || session.destroyed || open >= openMax) {
    if (measuring) failed++;
    return;
  }
  open++;
  exchange(session, request, (answered) => {
    open--;
    if (mine !== round) return;
    if (answered) {
      done++;
      latencies.add(monotonicMs() - dueMs);
    } else failed++;
  });
}

function turn(): void {
  const everyMs = 1_000 / task.perS;
  const due = Math.floor((monotonicMs() - beganMs) / everyMs);
  while (sent < due) send(beganMs + (sent + 1) * everyMs);
}

async function obey(command: ExchangeCommand): Promise<void> {
  if (command === 'measure') {
    round++;
    measured = 0;
    done = 0;
    failed = 0;
    latencies.clear();
    measuring = true;
    return;
  }
  measuring = false;
  await waitUntil(() => done + failed === measured, {
    what: 'the last exchanges',
    deadlineMs: lastWordMs,
  }).catch(() => undefined);
  const result: ExchangeResult = {
    done,
    failed: measured - done,
    p50Ms: latencies.quantileMs(0.5),
    p99Ms: latencies.quantileMs(0.99),
  };
  process.send?.(result);
}

setInterval(turn, 1);
process.on('message', (command: ExchangeCommand) => void obey(command));
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
