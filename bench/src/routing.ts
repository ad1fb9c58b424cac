/**
 * `npm run bench -- routing [--seeds N] [--only TEXT]`: picking policies against each other on
 * modelled fleets. Everything is simulated but the picking: `expected-work` is the scheduler and
 * the replica exchange that serve. A run repeats exactly under its seeds; see docs/routing.md.
 */
import { configForStrategy } from '@leadsman/picker';
import type { BenchOptions } from './main.ts';
import { measure, type ScenarioResult } from './routing/measure.ts';
import { scenarios } from './routing/scenario.ts';
import { tableOf } from './routing/table.ts';
import { missedTargets } from './routing/targets.ts';

export const about = 'picking policies on modelled fleets: time to first token, end to end';

const seedsDefault = 4;

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const only = argument(options.args, '--only') ?? '';
  const seedsWanted = Number(argument(options.args, '--seeds') ?? seedsDefault);
  if (!Number.isInteger(seedsWanted) || seedsWanted < 1) throw new RangeError('--seeds');
  const seeds = options.smoke ? [1] : Array.from({ length: seedsWanted }, (_, i) => i + 1);
  const scale = options.smoke ? 0.02 : 1;
  const config = await configForStrategy('expected-work');
  const print = (text: string) => {
    if (!options.json) process.stdout.write(`${text}\n`);
  };
  const results: ScenarioResult[] = [];
  for (const scenario of scenarios) {
    if (!scenario.name.includes(only)) continue;
    if (options.smoke && scenario.pods > 8) continue;
    const result = measure(scenario, config, { seeds, scale });
    results.push(result);
    print(tableOf(result));
  }
  const missed = options.smoke ? [] : results.flatMap(missedTargets);
  print(`\nseeds ${seeds.join(', ')}`);
  if (!options.smoke) {
    print(missed.length === 0 ? 'all targets met' : `missed:\n  ${missed.join('\n  ')}`);
  }
  return { seeds, scale, results, missed };
}

function argument(args: readonly string[], name: string): string | undefined {
  const at = args.indexOf(name);
  return at < 0 ? undefined : args[at + 1];
}
