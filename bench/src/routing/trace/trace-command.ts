/**
 * The part of `npm run bench -- routing` that replays traces. Lists are separated by commas, and
 * every combination is one cell: `--trace NAME|FILE,…`, `--pods`, `--replicas`, `--utilisation`
 * (percent), `--kv` (tokens; 400k and 1M are understood), `--cold` (without it warm), `--closed`
 * (sessions wait for their answers), `--seed N` or `--first-seed N --seeds COUNT`,
 * `--policies A,B`, `--only TEXT` (cells whose name has it), `--scale PART` (of the usual time). `--grid`: all that must hold.
 * `--write-excerpt PATH --every N` keeps every N-th session of a trace in our own form instead.
 */
import { writeFileSync } from 'node:fs';
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import { UsageError } from '../../arguments/usage-error.ts';
import { type PolicyName, policyNames } from '../policies.ts';
import { type Cell, type CellShape, runCell } from './cell.ts';
import { type Demand, demandOf } from './demand.ts';
import { thinned, writeExcerpt } from './excerpt.ts';
import { judge } from './judge.ts';
import { openTrace, traceNames } from './open-trace.ts';
import { cellName, cellsText } from './trace-table.ts';

const smokeScale = 0.02;

export interface TraceCommand {
  argument(name: string): string | undefined;
  has(name: string): boolean;
  isSmoke: boolean;
  config: SchedulingConfig;
  print(text: string): void;
}

export interface TraceOutcome {
  seeds: readonly number[];
  cells: Cell[];
  missed: string[];
}

export function runTraces(command: TraceCommand): TraceOutcome {
  const { argument, has, isSmoke, print } = command;
  const isGrid = has('--grid');
  const list = (name: string, usual: string, grid: string) =>
    (argument(name) ?? (isGrid ? grid : usual)).split(',');
  const traces = list('--trace', traceNames().join(','), traceNames().join(',')).map(openTrace);
  const excerptPath = argument('--write-excerpt');
  if (excerptPath !== undefined) {
    const every = positive('--every', argument('--every') ?? '1');
    writeFileSync(excerptPath, writeExcerpt(thinned(traces[0]!, every)));
  }
  const firstSeed = positive('--seed', argument('--seed') ?? argument('--first-seed') ?? '1');
  const seeds = Array.from(
    { length: positive('--seeds', argument('--seeds') ?? '1') },
    (_, i) => firstSeed + i,
  );
  const policies = list('--policies', policyNames.join(','), gridPolicies.join(','));
  const unknown = policies.find((name) => !(policyNames as readonly string[]).includes(name));
  if (unknown !== undefined) throw new UsageError(`--policies: there is no ${unknown}`);
  const temperatures = has('--cold') ? [true] : isGrid ? [false, true] : [false];
  const only = argument('--only') ?? '';
  const scale = Number(argument('--scale') ?? '1');
  if (!(scale > 0 && scale <= 1)) throw new UsageError(`--scale: ${scale}`);
  const outcome: TraceOutcome = { seeds, cells: [], missed: [] };
  let judged = 0;
  let near = 0;
  for (const trace of traces) {
    print(`\n${trace.name}: ${trace.source}, ${trace.license}`);
    const demands = new Map<string, Demand>();
    for (const pods of list('--pods', '8', '8,32'))
      for (const kv of list('--kv', '1M', '400k,1M,2M'))
        for (const utilisation of list('--utilisation', '80', '60,80,95'))
          for (const replicas of list('--replicas', '1', '1,3'))
            for (const cold of temperatures) {
              const shape: CellShape = {
                trace: trace.name,
                pods: positive('--pods', pods),
                replicas: positive('--replicas', replicas),
                utilisation: percent(utilisation),
                kv: tokens(kv),
                cold,
                closed: has('--closed'),
              };
              if (!cellName(shape).includes(only)) continue;
              const demandKey = `${shape.kv} ${shape.utilisation}`;
              const demand = demands.get(demandKey) ?? demandOf(trace, shape.kv, shape.utilisation);
              demands.set(demandKey, demand);
              const length = { seeds, scale: isSmoke ? smokeScale : scale };
              const names = policies as PolicyName[];
              const cells = runCell(trace, demand, shape, names, command.config, length);
              outcome.cells.push(...cells);
              const { missed, isNearOracle } = judge(cells);
              judged++;
              if (isNearOracle) near++;
              if (missed.length > 0) {
                outcome.missed.push(`${cellName(shape)}: ${missed.join(', ')}`);
              }
              print(cellsText(cells));
              if (!isSmoke && missed.length > 0) print(`  MISSED: ${missed.join(', ')}`);
            }
  }
  if (!isSmoke) {
    print(`\n${judged} cells, ${outcome.missed.length} with a miss, ${near} near the oracle`);
  }
  return outcome;
}

const gridPolicies: readonly PolicyName[] = policyNames.filter(
  (name) => name !== 'random' && name !== 'round-robin',
);

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new UsageError(`${name}: ${text}`);
  return value;
}

/** 80, 80% and 0.8 are the same. */
function percent(text: string): number {
  const value = Number(text.replace(/ ?%$/, ''));
  if (!(value > 0 && value <= 1000)) throw new UsageError(`--utilisation: ${text}`);
  return value < 2 ? value : value / 100;
}

function tokens(text: string): number {
  const match = /^(\d+(?:\.\d+)?)([kM]?)$/.exec(text);
  const unit = match?.[2] === 'M' ? 1e6 : match?.[2] === 'k' ? 1e3 : 1;
  const value = Math.round(Number(match?.[1]) * unit);
  if (!(value >= 1000)) throw new UsageError(`--kv: ${text}`);
  return value;
}
