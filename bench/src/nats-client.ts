/**
 * `npm run bench -- nats-client [--seconds N] [--rounds N]`: CPU of a receiver of 2,000 messages a
 * second (4 KB each, the frame of a node of 16 pods) by what reads its NATS connection: the plain
 * client library, or our reading side of it; each waking for whatever comes, and with batched
 * wake-ups as a collector thread has them. Why the reading side is ours: docs/adr/0013.
 *
 * All receivers run one after the other on one core, in rounds whose order alternates; `ratio` is
 * the plain client's CPU to ours, of medians. Server and sender are elsewhere.
 */
import { launchNats, requireNats } from '@leadsman/testing';
import { endAllChildren, endChild, nextMessage, startChild } from './fleet/child.ts';
import type { BenchOptions } from './main.ts';
import type { Reading, ReceiverTask, ReceiverUse } from './nats-client/messages.ts';

export const about = 'CPU of our reading side of NATS, against the plain client';

const perS = 2_000;
const payloadBytes = 4_320;

const readings: readonly Reading[] = ['plain', 'own', 'plain, batched', 'own, batched'];

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  if (!requireNats()) return {};
  const seconds = options.smoke ? 0.5 : numberOf(options.args, '--seconds', 6);
  const rounds = options.smoke ? 1 : numberOf(options.args, '--rounds', 5);
  const server = await launchNats();
  try {
    const file = '../nats-client/sender-process.ts';
    const sender = startChild(file, { url: server.url, perS, payloadBytes });
    await nextMessage(sender);
    const uses = new Map(readings.map((reading) => [reading, [] as ReceiverUse[]]));
    for (let round = 0; round < rounds; round++) {
      const order = round % 2 === 0 ? readings : readings.toReversed();
      for (const reading of order) {
        uses.get(reading)?.push(await receive({ url: server.url, reading, seconds }));
      }
    }
    const rows = readings.map((reading) => rowOf(reading, uses.get(reading) ?? []));
    const percentOf = (reading: Reading) =>
      rows.find((row) => row.reading === reading)?.cpu_percent ?? Number.NaN;
    const ratio = (plain: Reading, own: Reading) =>
      Number((percentOf(plain) / percentOf(own)).toFixed(2));
    const result = {
      rows,
      ratio_awake: ratio('plain', 'own'),
      ratio_batched: ratio('plain, batched', 'own, batched'),
    };
    if (!options.json) {
      for (const row of rows) {
        process.stdout.write(
          `${row.reading.padEnd(16)} ${row.cpu_percent} % of a core at ${row.per_s} messages/s\n`,
        );
      }
      process.stdout.write(
        `ratios: awake ${result.ratio_awake}, ` + `batched ${result.ratio_batched}\n`,
      );
    }
    return result;
  } finally {
    await endAllChildren();
    await server.stop();
  }
}

async function receive(task: ReceiverTask): Promise<ReceiverUse> {
  const child = startChild('../nats-client/receiver-process.ts', task);
  try {
    return await nextMessage<ReceiverUse>(child);
  } finally {
    await endChild(child);
  }
}

function rowOf(reading: Reading, uses: readonly ReceiverUse[]) {
  const median = (values: number[]) =>
    values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
  return {
    reading,
    cpu_percent: Number(median(uses.map((use) => use.cpuPercent)).toFixed(2)),
    per_s: Math.round(median(uses.map((use) => use.perS))),
  };
}

function numberOf(args: readonly string[], flag: string, fallback: number): number {
  const at = args.indexOf(flag);
  return at < 0 ? fallback : Number(args[at + 1]);
}
