/**
 * `npm run test:faults [-- PART|PART:FAULT …]`: each part of the system is killed, stopped for 15 s
 * and terminated at 100 requests/s through a real Envoy with two pickers; prints what it cost, and
 * ends with 1 when that is beyond the bound ({@link file://./cell.ts}).
 *
 * A whole run writes the table of docs/faults.md. `--short`: a few cells for CI, nothing written.
 * `--json`: the outcomes on stdout, nothing written either.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { toolPath } from '@leadsman/testing';
import { breachOf, type Cell, cellsOf, type Outcome } from './cell.ts';
import { FaultSystem } from './fault-system.ts';
import { tableOf, withTable } from './report.ts';
import { type CellTimes, runCell } from './run-cell.ts';

const documentPath = new URL('../../../docs/faults.md', import.meta.url);
/** Those that must cost nothing at all, however slow the machine is. */
const shortCells = ['sidecar:SIGKILL', 'agent:SIGKILL', 'nats:SIGKILL', 'collector:SIGKILL'];
const times: CellTimes = { settleMs: 2_000, stopMs: 15_000, awayMs: 2_000 };
const shortTimes: CellTimes = { settleMs: 1_000, stopMs: 15_000, awayMs: 1_000 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { short: { type: 'boolean' }, json: { type: 'boolean' } },
});
const say = (line: string) => void process.stderr.write(`${line}\n`);

const cells = cellsOf(values.short && positionals.length === 0 ? shortCells : positionals);
for (const tool of ['envoy', 'nats'] as const) toolPath(tool);
const outcomes = await run(cells, values.short ? shortTimes : times);
const whole = !values.short && positionals.length === 0;
if (values.json) process.stdout.write(`${JSON.stringify(outcomes)}\n`);
else process.stdout.write(`${tableOf(outcomes)}\n`);
if (whole && !values.json) {
  writeFileSync(documentPath, withTable(readFileSync(documentPath, 'utf8'), tableOf(outcomes)));
}
const breaches = outcomes.filter((outcome) => breachOf(outcome) !== undefined);
say(breaches.length === 0 ? 'all within the bound' : `${breaches.length} beyond the bound`);
process.exit(breaches.length === 0 ? 0 : 1);

async function run(list: readonly Cell[], given: CellTimes): Promise<Outcome[]> {
  const done: Outcome[] = [];
  const system = await FaultSystem.start();
  // Leaves no process behind: the rig's reaper ends them with this one.
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  try {
    for (const [i, cell] of list.entries()) {
      const outcome = await runCell(system, cell, given, i + 1);
      done.push(outcome);
      say(`${cell.part} ${cell.fault}: ${summary(outcome)}`);
    }
    return done;
  } finally {
    await system.stop();
  }
}

function summary(outcome: Outcome): string {
  const { failed, requests, wholeMs, failures } = outcome;
  const kinds = Object.entries(failures).map(([kind, count]) => `${count}x ${kind}`);
  const verdict = breachOf(outcome) ?? 'ok';
  return `${failed} of ${requests} failed, whole after ${Math.round(wholeMs)} ms: ${verdict} ${kinds.join('; ')}`;
}
