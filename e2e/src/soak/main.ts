/**
 * `npm run soak -- --minutes N`: the whole system under 60 requests/s and clients that give up,
 * while pods come and go and NATS, an agent and a sidecar restart, for N minutes. Then
 *
 * - no request failed but those which an event explains (a pod's engine that ended);
 * - each process that lived all along is as large as after the warm-up, and has no more handles;
 * - the pickers count in flight what the engines hold: 20 long requests, and then none.
 *
 * Ends with 1 when one of these is not so. `--json`: the outcome on stdout. At least 1 minute; what
 * grows by less than 2 MiB a minute shows from 10 minutes on.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { waitUntil } from '@leadsman/testing';
import { Pool } from 'undici';
import { startArrivals } from '../faults/arrivals.ts';
import { childrenOf, FaultSystem } from '../faults/fault-system.ts';
import { longRequest, startChurn, startResets } from './churn.ts';
import { type Growth, growthBreach, growthOf, megabytes } from './growth.ts';
import { heldByEngines, inFlightOf } from './in-flight.ts';
import { ProcessWatch, sampleOf } from './process-watch.ts';

const requestsPerSecond = 60;
const resettingClients = 4;
const longRequests = 20;
/** So many that none ends while it is counted. */
const longTokens = 20_000;
const restMs = 3_000;
/** Requests that may fail each time that a pod ends: those on its engine at that moment. */
const failedPerPod = 20;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, json: { type: 'boolean' } },
});
const minutes = Number(values.minutes);
if (!(minutes >= 1)) {
  process.stderr.write('--minutes must be 1 or more\n');
  process.exit(2);
}
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
const say = (line: string) => void process.stderr.write(`${line}\n`);

const built = await FaultSystem.start();
try {
  const problems = await soak(built);
  for (const problem of problems) say(`FAIL ${problem}`);
  say(problems.length === 0 ? 'flat, and the counts are the truth' : `${problems.length} problems`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  await built.stop();
}
process.exit();

async function soak(system: FaultSystem): Promise<string[]> {
  const { gateway } = system;
  const problems: string[] = [];
  await system.untilWhole(60_000);
  const pids = watchedPids(system);
  // Everything has been used once before what is at rest is counted.
  const warmUp = startArrivals(gateway.url, requestsPerSecond, 1);
  await delay(5_000);
  await warmUp.stop();
  await delay(restMs);
  const before = new Map([...pids].map(([name, pid]) => [name, sampleOf(pid).handles]));

  const watch = new ProcessWatch(pids);
  const churn = startChurn(system);
  const resets = startResets(gateway.url, resettingClients);
  let requests = 0;
  const failures: string[] = [];
  const endMs = performance.now() + minutes * 60_000;
  // A generator per minute: what has ended is not kept for hours.
  for (let minute = 0; performance.now() < endMs; minute++) {
    const arrivals = startArrivals(gateway.url, requestsPerSecond, 2 + minute);
    await delay(Math.min(60_000, endMs - performance.now()));
    await arrivals.stop();
    requests += arrivals.ended.length;
    for (const { failure } of arrivals.ended) if (failure !== undefined) failures.push(failure);
    say(
      `minute ${minute + 1}: ${requests} requests, ${failures.length} failed, ${resets.count} reset`,
    );
  }
  watch.stop();
  await Promise.all([churn.stop(), resets.stop()]);
  await system.untilWhole(60_000);
  problems.push(...(await countedProblems(system)));
  await delay(restMs);

  const growths = [...pids].map(([name, pid]): Growth => {
    const rest = { before: before.get(name)!, after: sampleOf(pid).handles };
    return growthOf(name, watch.samples.get(name)!, rest);
  });
  for (const growth of growths) {
    const breach = growthBreach(growth);
    if (breach !== undefined) problems.push(`${growth.name}: ${breach}`);
  }
  const explained = failedPerPod * (churn.counts['a pod left and came'] ?? 0);
  if (failures.length > explained) {
    problems.push(`${failures.length} requests failed: ${[...new Set(failures)].join('; ')}`);
  }
  if (Object.keys(churn.counts).length === 0) problems.push('nothing came or went');
  const counts = { requests, failed: failures.length, resets: resets.count, events: churn.counts };
  if (values.json)
    process.stdout.write(`${JSON.stringify({ minutes, ...counts, growths, problems })}\n`);
  else process.stdout.write(`${JSON.stringify(counts)}\n${growths.map(lineOf).join('\n')}\n`);
  return problems;
}

/** Processes that no event of the churn ends. The engines and Envoy are not ours. */
function watchedPids({ rig }: FaultSystem): Map<string, number> {
  const pids = new Map<string, number>();
  for (const picker of rig.pickers) {
    pids.set(picker.name, picker.process.pid);
    for (const [pid, title] of childrenOf(picker.process.pid)) {
      const name = title.replace(/\0.*$/s, '').replace('leadsman-picker-', '');
      pids.set(`${picker.name} ${name}`, pid);
    }
  }
  for (const agent of rig.agents.slice(1)) pids.set(agent.name, agent.process.pid);
  for (const sidecar of rig.sidecars.slice(1, -1)) pids.set(sidecar.name, sidecar.process.pid);
  return pids;
}

/** Long requests are held, counted on both sides, and given up; then nothing may be in flight. */
async function countedProblems({ rig, gateway }: FaultSystem): Promise<string[]> {
  const problems: string[] = [];
  const expect = async (what: string, wanted: number): Promise<void> => {
    let seen = [Number.NaN, Number.NaN];
    const equal = async () => {
      seen = await Promise.all([heldByEngines(rig), inFlightOf(rig)]);
      return seen.every((count) => count === wanted);
    };
    await waitUntil(equal, { what, deadlineMs: 20_000 }).catch(() => {
      problems.push(`${what}: ${wanted} are; engines hold ${seen[0]}, pickers count ${seen[1]}`);
    });
  };
  await expect('in flight after the traffic', 0);
  const pool = new Pool(gateway.url, { connections: longRequests });
  const leaving = new AbortController();
  const open = Array.from({ length: longRequests }, async () => {
    const { body } = await pool.request(longRequest(longTokens, leaving.signal));
    await body.dump({ limit: Number.MAX_SAFE_INTEGER });
  });
  const ended = Promise.allSettled(open);
  await expect('in flight with long requests', longRequests);
  leaving.abort();
  await ended;
  await pool.destroy();
  await expect('in flight after they were given up', 0);
  return problems;
}

function lineOf(growth: Growth): string {
  const { name, beforeBytes, afterBytes, bytesPerMinute, handlesBefore, handlesAfter } = growth;
  const memory = `${megabytes(beforeBytes)} -> ${megabytes(afterBytes)}`;
  const rate = `${(bytesPerMinute / 1_048_576).toFixed(2)} MiB/min`;
  return `${name.padEnd(26)} ${memory} (${rate}), handles ${handlesBefore} -> ${handlesAfter}`;
}
