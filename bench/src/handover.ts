/**
 * `npm run bench -- handover`: what a reader sees of a node whose sidecars, in exporter mode
 * `auto`, change between their agent and NATS under load. Real sidecars (in one process), engines
 * under requests, a real agent that is started, stopped, killed and stopped in its tracks, real
 * NATS, a real collector thread.
 *
 * The bound: no report older than two intervals may be visible, none may be counted twice, no
 * endpoint may be lost. `steady` is the same machine without a change: what it exceeds there is
 * its own noise, and `blind ms` is how long the watcher itself saw nothing. The first time that a
 * sidecar needs a transport of its own it loads the code for it: in one process they all share that.
 *
 * `--sidecars N` (8), `--rounds N` (3), `--interval-ms N` (50).
 */
import { parseArgs } from 'node:util';
import { endAllChildren } from './fleet/child.ts';
import { type Step, steps } from './handover/steps.ts';
import { HandoverSystem } from './handover/system.ts';
import { addSeen, nothingSeen, type Seen } from './handover/view-watch.ts';
import type { BenchOptions } from './main.ts';

export const about = 'sidecars change between agent and NATS: age, doubles and losses';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Row extends Seen {
  what: string;
  runs: number;
  /** From the cause to the last sidecar's change of way: the longest, ms. */
  tookMs: number;
  /** Longest pause of the sidecars' process, ms. */
  pauseMs: number;
  /** Frames that no way took. */
  droppedFrames: number;
}

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const { smoke } = options;
  const { sidecars, rounds, intervalMs } = optionsOf(options);
  const boundMs = 2 * intervalMs;
  const settleMs = smoke ? 200 : 1_500;
  const warmUpMs = smoke ? 300 : 3_000;
  const system = await HandoverSystem.start({ sidecars, intervalMs, boundMs });
  const rows = new Map<string, Row>();
  const note = async (what: string, tookMs: number) => {
    const row = rows.get(what) ?? emptyRow(what);
    rows.set(what, row);
    addSeen(row, system.watch.take());
    const { pauseMs, droppedFrames } = await system.pause();
    row.runs++;
    row.tookMs = Math.max(row.tookMs, tookMs);
    row.pauseMs = Math.max(row.pauseMs, pauseMs);
    row.droppedFrames += droppedFrames;
  };
  try {
    // Compiling belongs to the start.
    await sleep(warmUpMs);
    for (let round = 0; round < rounds; round++) {
      for (const step of steps(smoke)) {
        await prepare(system, step, warmUpMs);
        await sleep(settleMs);
        await note('steady', 0);
        await note(step.what, await change(system, step, settleMs));
      }
    }
    const given = { sidecars, interval_ms: intervalMs, bound_ms: boundMs };
    const result = { ...given, ...resultOf([...rows.values()], system.duplicates) };
    if (!options.json) print(result);
    return result;
  } finally {
    await system.stop();
    await endAllChildren();
  }
}

function optionsOf({ args, smoke }: BenchOptions) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sidecars: { type: 'string', default: smoke ? '4' : '8' },
      rounds: { type: 'string', default: smoke ? '1' : '3' },
      'interval-ms': { type: 'string', default: '50' },
    },
  });
  const positive = (name: string, text: string) => {
    if (!(Number(text) > 0)) throw new RangeError(`--${name} must be a number above 0`);
    return Number(text);
  };
  return {
    sidecars: positive('sidecars', values.sidecars),
    rounds: positive('rounds', values.rounds),
    intervalMs: positive('interval-ms', values['interval-ms']),
  };
}

/** What is seen meanwhile does not count. */
async function prepare(system: HandoverSystem, step: Step, warmUpMs: number): Promise<void> {
  if (step.from === 'fresh') {
    await system.renewSidecars();
    await sleep(warmUpMs);
  }
  if (step.from === 'closed') await system.allClosed();
  await system.pause();
  system.watch.take();
}

/** One change, and some time after it; resolves to how long it took, ms. */
async function change(system: HandoverSystem, step: Step, settleMs: number): Promise<number> {
  const beganMs = performance.now();
  const caused = step.cause(system);
  await system.allBy(step.to);
  const tookMs = performance.now() - beganMs;
  await caused;
  await sleep(settleMs);
  return tookMs;
}

function emptyRow(what: string): Row {
  return { what, runs: 0, tookMs: 0, pauseMs: 0, droppedFrames: 0, ...nothingSeen() };
}

function fieldsOf(row: Row) {
  return {
    what: row.what,
    runs: row.runs,
    took_ms: Math.round(row.tookMs),
    oldest_ms: Number(row.oldestMs.toFixed(1)),
    samples: row.samples,
    exceeded: row.exceeded,
    reports: row.reports,
    counted_twice: row.twice,
    went_back: row.wentBack,
    lost: row.lost,
    dropped_frames: row.droppedFrames,
    sidecars_pause_ms: Number(row.pauseMs.toFixed(1)),
    blind_ms: Number(row.blindMs.toFixed(1)),
  };
}

function resultOf(rows: readonly Row[], duplicates: number) {
  const switches = rows.filter(({ what }) => what !== 'steady').map(fieldsOf);
  const steady = rows.filter(({ what }) => what === 'steady').map(fieldsOf);
  const total = nothingSeen();
  for (const row of rows) addSeen(total, row);
  return {
    steady: steady[0],
    switches,
    oldest_ms: Math.max(...switches.map((row) => row.oldest_ms)),
    counted_twice: total.twice,
    went_back: total.wentBack,
    lost: total.lost,
    duplicates_dropped: duplicates,
  };
}

interface Given {
  sidecars: number;
  interval_ms: number;
  bound_ms: number;
}

function print(result: Given & ReturnType<typeof resultOf>): void {
  const rows = result.steady === undefined ? result.switches : [result.steady, ...result.switches];
  const head = ['', 'runs', 'took ms', 'oldest ms', 'exceeded', 'of', 'twice', 'back', 'lost'];
  const lines = rows.map((row) => [
    row.what,
    row.runs,
    row.took_ms,
    row.oldest_ms,
    row.exceeded,
    row.samples,
    row.counted_twice,
    row.went_back,
    row.lost,
    row.dropped_frames,
    row.sidecars_pause_ms,
    row.blind_ms,
  ]);
  const texts = [[...head, 'dropped', 'pause ms', 'blind ms'], ...lines].map((cells) =>
    cells.map((cell, i) => (i === 0 ? String(cell).padEnd(24) : String(cell).padStart(9))).join(''),
  );
  process.stdout.write(
    `${result.sidecars} sidecars, scrapes every ${result.interval_ms} ms, ` +
      `bound ${result.bound_ms} ms\n${texts.join('\n')}\n`,
  );
}
