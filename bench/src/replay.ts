/**
 * `npm run bench -- replay`: a trace through the real picker, real Envoy and simulated engines, each
 * with its sidecar, under the default strategy, `random` and `prefix-cache`; and the same requests
 * in the simulation of `npm run bench -- routing`. The hit ratios of both must agree within .05.
 *
 * Arguments: `--seconds N` (of requests per strategy, 60), `--trace NAME|FILE`
 * (mooncake_conversation), `--utilisation PERCENT` (50), `--kv TOKENS` (200,000), `--seed N`.
 * Prompts above 32,000 tokens are left out: client, engines and gateway share this machine.
 */
import { configForStrategy } from '@leadsman/scheduling/hub/strategy-file/strategy-file';
import type { BenchOptions } from './main.ts';
import { replayOn } from './replay/replay-on.ts';
import { simulatedHitRatio } from './replay/simulated.ts';
import { demandOf } from './routing/trace/demand.ts';
import { openTrace } from './routing/trace/open-trace.ts';
import { overlay } from './routing/trace/overlay.ts';

export const about = 'a public trace through picker, Envoy and engines; against the simulation';

const strategies = ['expected-work', 'random', 'prefix-cache'] as const;
const pods = 8;
const tokensMax = 32_000;
const hitRatioDifferenceMax = 0.05;

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const number = (name: string, usual: number) => {
    const at = options.args.indexOf(name);
    const value = at < 0 ? usual : Number(options.args[at + 1]);
    if (!(value > 0)) throw new RangeError(name);
    return value;
  };
  const at = options.args.indexOf('--trace');
  const trace = openTrace(at < 0 ? 'mooncake_conversation' : (options.args[at + 1] ?? ''));
  const durationMs = options.smoke ? 2_000 : 1_000 * number('--seconds', 60);
  const utilisation = number('--utilisation', 50) / 100;
  const kv = number('--kv', 200_000);
  const { rowMs } = demandOf(trace, kv, utilisation);
  const requests = overlay(trace, {
    workMs: utilisation * pods * durationMs,
    rowMs,
    durationMs,
    replicas: 1,
    tokensMax,
    isClosed: false,
    seed: number('--seed', 1),
  });
  const rows = [];
  for (const strategy of options.smoke ? strategies.slice(0, 1) : strategies) {
    const real = await replayOn({ strategy, pods, kv, requests });
    const simulated = simulatedHitRatio(await configForStrategy(strategy), pods, kv, requests);
    const row = { strategy, ...real, simulated_hit_ratio: simulated };
    rows.push(row);
    if (!options.json) {
      process.stdout.write(
        `${strategy.padEnd(16)} ${row.requests} requests, ${row.failed} failed; time to first ` +
          `token p50 ${row.ttft_ms.p50.toFixed(0)} p99 ${row.ttft_ms.p99.toFixed(0)} ms, ` +
          `mean end to end ${row.e2e_ms.mean.toFixed(0)} ms; hit ratio ` +
          `${row.hit_ratio.toFixed(3)}, simulated ${simulated.toFixed(3)}\n`,
      );
    }
  }
  const missed = rows
    .filter((row) => !(Math.abs(row.hit_ratio - row.simulated_hit_ratio) <= hitRatioDifferenceMax))
    .map(({ strategy }) => `${strategy}: hit ratio and simulation differ by more than .05`);
  if (!options.json && !options.smoke) {
    process.stdout.write(missed.length === 0 ? 'hit ratios agree\n' : `${missed.join('\n')}\n`);
  }
  return { trace: trace.name, source: trace.source, license: trace.license, rows, missed };
}
