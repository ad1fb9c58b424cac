/**
 * `npm run bench -- pick`: one pick among 10 … 10,000 endpoints, everything included that a request
 * pays for: refresh of the table when due, prefix lookup and entry for a 4 KB prompt
 * (expected-work), the in-flight account and its release.
 *
 * Allocation is V8's own count of bytes ever allocated. `ratio` compares least-load among 1,000
 * with the obvious object-based scorer in the same run. One row has prompts of 400 KB instead. `hash_us_per_kb` and `match_us_per_kb` are
 * the prefix index's cost per KB of prompt.
 */
import { getHeapStatistics } from 'node:v8';
import { configForStrategy } from '@leadsman/scheduling/hub/strategy-file/strategy-file';
import { BlockHashes } from '@leadsman/scheduling/prefix/block-hash';
import { PrefixIndex } from '@leadsman/scheduling/prefix/prefix-index';
import { seededRandom } from '@leadsman/scheduling/random';
import { emptyPick } from '@leadsman/scheduling/scheduler';
import { createInFlightBuffer, InFlightTable } from '@leadsman/scheduling/shared/in-flight-table';
import { createSchedulingMemory } from '@leadsman/scheduling/shared/shared-memory';
import { policiesOf } from '@leadsman/scheduling/worker/build-policy';
import { WorkerScheduler } from '@leadsman/scheduling/worker/worker-scheduler';
import type { BenchOptions } from './main.ts';
import { BenchFleet } from './pick/fleet.ts';
import { naivePick } from './pick/naive-scorer.ts';

export const about = 'one pick among 10 to 10,000 endpoints: time and allocation';

const sizes = [10, 100, 1_000, 10_000] as const;
const promptBytes = 4_096;
/** What a coding agent sends: 100,000 tokens. */
const longPromptBytes = 400 * 1_024;
/** 2,000 picks/s, a busy worker: the table is refreshed every tenth pick. */
const pickIntervalMs = 0.5;
/** Every endpoint reports anew each 50 ms, a tenth of them at a time. */
const picksPerReport = 10;
const reportParts = 10;
/** Requests in flight at once, so that releases and picks alternate as they do when serving. */
const openMax = 64;
const poolName = 'bench/pool';

interface Figures {
  p50_us: number;
  p99_us: number;
  bytes_per_pick: number;
}

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const picks = options.smoke ? 400 : 20_000;
  const result: Record<string, unknown> = { prompt_bytes: promptBytes };
  const figures: Record<string, Record<string, Figures>> = {};
  for (const strategy of ['least-load', 'expected-work']) {
    figures[strategy] = {};
    for (const size of sizes) {
      figures[strategy][size] = await measure(strategy, size, size > 1_000 ? picks / 4 : picks);
    }
  }
  const long = await measure('expected-work', 1_000, picks / 10, longPromptBytes);
  const naive = measureNaive(1_000, options.smoke ? 50 : 1_000);
  const ours = figures['least-load']![1_000]!;
  Object.assign(result, {
    least_load: figures['least-load'],
    expected_work: figures['expected-work'],
    expected_work_1000_long_prompt: { prompt_bytes: longPromptBytes, ...long },
    naive_1000: naive,
    ratio: Number((naive.p50_us / ours.p50_us).toFixed(1)),
    ...measureIndex(options.smoke ? 200 : 20_000),
  });
  if (!options.json) print(figures, result);
  return result;
}

/** Prompts of a few tenants: a shared beginning of half the prompt, the rest differs. */
function makePrompts(count: number, bytes = promptBytes): Uint8Array[] {
  const random = seededRandom(3);
  return Array.from({ length: count }, (_, i) => {
    const tenant = seededRandom(i % 16);
    return Uint8Array.from({ length: bytes }, (_, at) =>
      Math.floor(32 + 90 * (at < bytes / 2 ? tenant() : random())),
    );
  });
}

async function schedulerFor(strategy: string, fleet: BenchFleet): Promise<WorkerScheduler> {
  const config = await configForStrategy(strategy);
  const shape = { endpointsMax: fleet.endpoints.length, workers: 1 };
  const memory = createSchedulingMemory(shape.endpointsMax, 1, config.prefixIndex);
  const scheduler = new WorkerScheduler({
    source: fleet.reader,
    inFlight: new InFlightTable(createInFlightBuffer(shape), shape, 0),
    remote: memory.remote,
    prefixIndex: new PrefixIndex(memory.prefix, memory.prefixShape),
    history: undefined,
    random: seededRandom(1),
    policyFor: policiesOf(config, [], () => undefined),
  });
  const { endpoints } = fleet;
  const update = { pool: poolName, version: 1, authorities: [], objectives: {}, endpoints };
  scheduler.updatePool(update, 0);
  return scheduler;
}

async function measure(
  strategy: string,
  size: number,
  picks: number,
  bytes = promptBytes,
): Promise<Figures> {
  const fleet = new BenchFleet(size, 0);
  const scheduler = await schedulerFor(strategy, fleet);
  const prompts = makePrompts(bytes === promptBytes ? 512 : 64, bytes);
  const tickets = new Float64Array(openMax).fill(-1);
  const into = emptyPick();
  const outcome = { outputTokens: 100, aborted: false };
  const header = (): undefined => undefined;
  const request = {
    requestId: 'bench',
    poolName,
    model: 'bench',
    prompt: prompts[0],
    promptTokens: bytes / 4,
    maxOutputTokens: 0,
    streaming: true,
    computes: true,
    cacheIdentity: '',
    subset: undefined,
    header,
    nowMs: 0,
  };
  const took = new Float64Array(picks);
  const once = (i: number): void => {
    const slot = i % openMax;
    scheduler.release(tickets[slot]!, outcome);
    request.prompt = prompts[i % prompts.length];
    request.nowMs += pickIntervalMs;
    scheduler.pick(request, into);
    tickets[slot] = into.ticket;
    scheduler.firstToken(into.ticket);
  };
  const betweenPicks = (i: number): void => {
    if (i % picksPerReport === 0) {
      fleet.report(request.nowMs, (i / picksPerReport) % reportParts, reportParts);
    }
    if (i % 20 === 0) scheduler.tick(request.nowMs);
  };
  for (let i = 0; i < picks / 2; i++) {
    betweenPicks(i);
    once(i);
  }
  if (into.reason !== '') throw new Error(`picks are not as usual: ${into.reason}`);
  for (let i = 0; i < picks; i++) {
    betweenPicks(i);
    const beganMs = performance.now();
    once(i);
    took[i] = (performance.now() - beganMs) * 1_000;
  }
  // Apart from the timing, as reading V8's statistics allocates by itself.
  const before = getHeapStatistics().total_allocated_bytes;
  for (let i = 0; i < picks; i++) once(i);
  const allocated = getHeapStatistics().total_allocated_bytes - before;
  return figuresOf(took, allocated / picks);
}

function measureNaive(size: number, picks: number): Figures {
  const { objects } = new BenchFleet(size, 0);
  const took = new Float64Array(picks);
  for (let i = 0; i < picks / 4; i++) naivePick(objects);
  const before = getHeapStatistics().total_allocated_bytes;
  for (let i = 0; i < picks; i++) {
    const beganMs = performance.now();
    naivePick(objects);
    took[i] = (performance.now() - beganMs) * 1_000;
  }
  const allocated = getHeapStatistics().total_allocated_bytes - before;
  return figuresOf(took, allocated / picks);
}

/** Median cost of hashing, matching at one endpoint and entering, per KB of prompt. */
function measureIndex(rounds: number): Record<string, number> {
  const memory = createSchedulingMemory(64, 1, {
    tokensPerEndpoint: 1_048_576,
    distinctBlocks: 1_048_576,
  });
  const index = new PrefixIndex(memory.prefix, memory.prefixShape);
  const prompts = makePrompts(512);
  const hashes = new BlockHashes();
  const hashUs = new Float64Array(rounds);
  const matchUs = new Float64Array(rounds);
  const enterUs = new Float64Array(rounds);
  for (let i = 0; i < rounds * 2; i++) {
    const beganMs = performance.now();
    hashes.set(prompts[i % prompts.length]!, 1);
    const hashedMs = performance.now();
    index.match(i % 64, hashes);
    const matchedMs = performance.now();
    index.enter(i % 64, hashes);
    enterUs[i % rounds] = (performance.now() - matchedMs) * 1_000;
    matchUs[i % rounds] = (matchedMs - hashedMs) * 1_000;
    hashUs[i % rounds] = (hashedMs - beganMs) * 1_000;
  }
  const perKb = (us: Float64Array): number => round(median(us) / (promptBytes / 1_024), 3);
  return {
    hash_us_per_kb: perKb(hashUs),
    match_us_per_kb: perKb(matchUs),
    enter_us_per_kb: perKb(enterUs),
  };
}

function median(values: Float64Array): number {
  return values.toSorted()[values.length >> 1]!;
}

function figuresOf(took: Float64Array, bytesPerPick: number): Figures {
  const sorted = took.toSorted();
  const at = (share: number): number => round(sorted[Math.floor(share * (sorted.length - 1))]!, 2);
  return { p50_us: at(0.5), p99_us: at(0.99), bytes_per_pick: Math.round(bytesPerPick) };
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

function print(
  figures: Record<string, Record<string, Figures>>,
  result: Record<string, unknown>,
): void {
  const lines = ['strategy        endpoints    p50 us    p99 us   bytes/pick'];
  for (const [strategy, bySize] of Object.entries(figures)) {
    for (const [size, { p50_us, p99_us, bytes_per_pick }] of Object.entries(bySize)) {
      lines.push(
        strategy.padEnd(16) +
          [size.padStart(9), String(p50_us).padStart(9), String(p99_us).padStart(9)].join(' ') +
          String(bytes_per_pick).padStart(13),
      );
    }
  }
  const long = result.expected_work_1000_long_prompt as Figures;
  lines.push(
    `… 400 KB prompt ${'1000'.padStart(9)} ${String(long.p50_us).padStart(9)} ${String(long.p99_us).padStart(9)}${String(long.bytes_per_pick).padStart(13)}`,
  );
  const { naive_1000: naive, ratio, hash_us_per_kb, match_us_per_kb, enter_us_per_kb } = result;
  lines.push(
    `naive objects   ${'1000'.padStart(9)} ${String((naive as Figures).p50_us).padStart(9)}`,
  );
  lines.push(`ratio (naive / least-load, p50, 1,000 endpoints): ${ratio}`);
  lines.push(
    `prefix index per KB of prompt: hash ${hash_us_per_kb}, match ${match_us_per_kb}, enter ${enter_us_per_kb} us`,
  );
  process.stdout.write(`${lines.join('\n')}\n`);
}
