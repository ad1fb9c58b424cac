/**
 * `npm run bench -- routing`: picking policies against each other on modelled fleets. Everything
 * is simulated but the picking: `expected-work` is the scheduler and the replica exchange that
 * serve. A run repeats exactly under its seeds; see docs/routing.md.
 *
 * With `--trace` or `--grid` the requests are those of public traces: routing/trace/trace-command.ts
 * has the arguments. Without, the scenarios of our own are run, and then one cell of each trace.
 *
 * Arguments: `--seeds N` (how many, 4 unless given), `--first-seed N` (1 unless given; the weights
 * were chosen on seeds 1 to 4, so others are held out), `--only TEXT` (scenarios whose name has it),
 * `--parameters JSON` (weights of expected-work), `--share-ms N` (between two messages of a
 * replica; 0: replicas do not hear of each other).
 */
import { configForStrategy } from '@leadsman/scheduling/hub/strategy-file/strategy-file';
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import type { BenchOptions } from './main.ts';
import { measure, type ScenarioResult } from './routing/measure.ts';
import { scenarios } from './routing/scenario.ts';
import { tableOf } from './routing/table.ts';
import { missedTargets } from './routing/targets.ts';
import { runTraces } from './routing/trace/trace-command.ts';

export const about = 'picking policies on modelled fleets: time to first token, end to end';

const seedsDefault = 4;
/** A smoke run simulates this part of each scenario's time, and leaves the large fleets out. */
const smokeScale = 0.02;
const smokePodsMax = 8;

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const traces = {
    argument: (name: string) => argument(options, name),
    has: (name: string) => options.args.includes(name),
    isSmoke: options.smoke,
    config: await configOf(options),
    print: (text: string) => {
      if (!options.json) process.stdout.write(`${text}\n`);
    },
  };
  if (traces.has('--trace') || traces.has('--grid')) return { ...runTraces(traces) };
  const only = argument(options, '--only') ?? '';
  const seedsWanted = Number(argument(options, '--seeds') ?? seedsDefault);
  if (!Number.isInteger(seedsWanted) || seedsWanted < 1) throw new RangeError('--seeds');
  const firstSeed = Number(argument(options, '--first-seed') ?? 1);
  if (!Number.isInteger(firstSeed) || firstSeed < 1) throw new RangeError('--first-seed');
  const seeds = options.smoke ? [1] : Array.from({ length: seedsWanted }, (_, i) => firstSeed + i);
  const scale = options.smoke ? smokeScale : 1;
  const { config, print } = traces;
  const results: ScenarioResult[] = [];
  for (const scenario of scenarios) {
    if (!scenario.name.includes(only)) continue;
    if (options.smoke && scenario.pods > smokePodsMax) continue;
    const result = measure(scenario, config, { seeds, scale });
    results.push(result);
    print(tableOf(result));
  }
  const missed = options.smoke ? [] : results.flatMap(missedTargets);
  print(`\nseeds ${seeds.join(', ')}`);
  if (!options.smoke) {
    print(missed.length === 0 ? 'all targets met' : `missed:\n  ${missed.join('\n  ')}`);
  }
  const { cells } = runTraces(traces);
  return { seeds, scale, results, missed, cells };
}

async function configOf(options: BenchOptions): Promise<SchedulingConfig> {
  const config = await configForStrategy('expected-work');
  const parameters = JSON.parse(argument(options, '--parameters') ?? '{}');
  const shareMs = Number(argument(options, '--share-ms') ?? config.replicas.shareIntervalMs);
  if (!(shareMs >= 0)) throw new RangeError('--share-ms');
  return {
    ...config,
    default: { ...config.default, choice: { strategy: { type: 'expected-work', parameters } } },
    replicas: { ...config.replicas, shareIntervalMs: shareMs },
  };
}

function argument(options: BenchOptions, name: string): string | undefined {
  const at = options.args.indexOf(name);
  return at < 0 ? undefined : options.args[at + 1];
}
