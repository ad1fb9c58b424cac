/**
 * The latency that a picker adds to a request: real Envoy at a fixed rate without ext_proc, with the
 * picker in mode NONE, and with the picker in full duplex. The three run in turns, so that a noisy
 * machine is noisy for all of them. Client, Envoy, engine and picker share this machine: what is
 * added here is more than on a gateway with cores of its own.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Envoy, launchEnvoy } from '@leadsman/testing';
import { type Latencies, sendAtRate } from './gateway/fixed-rate.ts';
import type { BenchOptions } from './main.ts';

export const about = 'latency that the picker adds to requests through Envoy';

const variants = ['without', 'none', 'full_duplex'] as const;
type Variant = (typeof variants)[number];

async function start(file: string, args: string[]): Promise<{ child: ChildProcess; port: number }> {
  const entry = fileURLToPath(new URL(`./gateway/${file}`, import.meta.url));
  const child = fork(entry, args, { execArgv: ['--no-warnings'] });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { child, port };
}

/** The shipped bootstrap of one Envoy beside one picker, with the ports and the mode given. */
async function bootstrapOf(mode: string, picker: number, engine: number): Promise<string> {
  const file = new URL('../../deploy/envoy/standalone.yaml', import.meta.url);
  return (await readFile(file, 'utf8'))
    .replace('address: 0.0.0.0, port_value: 10000', 'address: 127.0.0.1, port_value: 0')
    .replace('port_value: 9002', `port_value: ${picker}`)
    .replace('port_value: 8080', `port_value: ${engine}`)
    .replace('request_body_mode: FULL_DUPLEX_STREAMED', `request_body_mode: ${mode}`)
    .replace('response_body_mode: FULL_DUPLEX_STREAMED', `response_body_mode: ${mode}`);
}

const quantile = (sorted: Float64Array, q: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
const rounded = (ms: number): number => Math.round(ms * 100) / 100;

function summary(rounds: readonly Latencies[]) {
  const all = Float64Array.from(rounds.flatMap(({ sortedMs }) => [...sortedMs])).sort();
  return {
    requests: rounds.reduce((sum, { sent }) => sum + sent, 0),
    failed: rounds.reduce((sum, { failed }) => sum + failed, 0),
    p50_ms: rounded(quantile(all, 0.5)),
    p99_ms: rounded(quantile(all, 0.99)),
  };
}

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const load = options.smoke
    ? { perSecond: 50, seconds: 1 }
    : { perSecond: Number(options.args[0] ?? 200), seconds: 5 };
  const rounds = options.smoke ? 1 : 3;
  const engine = await start('engine-process.ts', []);
  const picker = await start('picker-process.ts', [`127.0.0.1:${engine.port}`]);
  const measured: Record<Variant, Latencies[]> = { without: [], none: [], full_duplex: [] };
  const envoys: Envoy[] = [];
  try {
    for (const mode of ['NONE', 'FULL_DUPLEX_STREAMED']) {
      const bootstrap = await bootstrapOf(mode, picker.port, engine.port);
      envoys.push(await launchEnvoy({ bootstrap }));
    }
    const [none, duplex] = envoys.map(
      (envoy) => `http://127.0.0.1:${envoy.ports.listeners.gateway}`,
    );
    // Off the pool's routes, the same Envoy does not ask the picker.
    const targets: Record<Variant, [string, string]> = {
      without: [duplex!, '/other'],
      none: [none!, '/v1/chat/completions'],
      full_duplex: [duplex!, '/v1/chat/completions'],
    };
    for (let i = -1; i < rounds; i++) {
      for (const variant of variants) {
        const warmUp = i < 0 ? { perSecond: 100, seconds: 0.5 } : load;
        const latencies = await sendAtRate(...targets[variant], warmUp);
        if (i >= 0) measured[variant].push(latencies);
      }
    }
  } finally {
    await Promise.all(envoys.map((envoy) => envoy.stop()));
    engine.child.disconnect();
    picker.child.disconnect();
  }
  const [without, none, fullDuplex] = variants.map((variant) => summary(measured[variant]));
  const result = {
    requests_per_s: load.perSecond,
    without: without!,
    none: none!,
    full_duplex: fullDuplex!,
    added_by_none_ms: added(none!, without!),
    added_by_full_duplex_ms: added(fullDuplex!, without!),
  };
  if (!options.json) print(result);
  return result;
}

type Summary = ReturnType<typeof summary>;

function added(variant: Summary, without: Summary) {
  return {
    p50: rounded(variant.p50_ms - without.p50_ms),
    p99: rounded(variant.p99_ms - without.p99_ms),
  };
}

function print(result: {
  requests_per_s: number;
  without: Summary;
  none: Summary;
  full_duplex: Summary;
}): void {
  const row = (name: string, of: Summary): string =>
    `  ${name.padEnd(24)} ${String(of.p50_ms).padStart(9)} ${String(of.p99_ms).padStart(9)} ${String(of.failed).padStart(8)}\n`;
  process.stdout.write(
    `through Envoy at ${result.requests_per_s} requests/s with 1 KB bodies\n` +
      '                              p50 ms    p99 ms   failed\n' +
      row('without ext_proc', result.without) +
      row('picker, NONE', result.none) +
      row('picker, full duplex', result.full_duplex),
  );
}
