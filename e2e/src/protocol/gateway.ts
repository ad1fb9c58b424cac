/** Starts real Envoy on one of the bootstraps of `deploy/envoy`, with the ports of a test. */
import { readFile } from 'node:fs/promises';
import { type Envoy, launchEnvoy, waitUntil } from '@leadsman/testing';

export type Bootstrap =
  | 'original-dst'
  | 'override-host'
  | 'subset'
  | 'ai-gateway'
  | 'fail-open'
  | 'fail-close'
  | 'standalone';

export interface GatewaySetup {
  bootstrap: Bootstrap;
  /** Ports of the pickers' ext_proc servers, all of them behind the cluster `picker`. */
  pickers: readonly number[];
  /** Ports of the pool's hosts, where the bootstrap lists hosts. */
  pool?: readonly [number, number];
  plain?: number;
  gatewayProcessor?: number;
  /** The pickers speak plaintext (the standalone bootstrap always does). */
  plaintext?: boolean;
  /** Last changes to the text of the bootstrap. */
  edit?: (text: string) => string;
  /** Keep the times of the health checks; else they are short, and patient with a busy machine. */
  healthAsPublished?: boolean;
  /** Do not wait until Envoy finds the pickers healthy. */
  unhealthy?: boolean;
}

export interface Gateway {
  readonly envoy: Envoy;
  readonly url: string;
  readonly port: number;
  /** One of Envoy's counters or gauges; 0 where it does not exist yet. */
  stat(name: string): Promise<number>;
  stop(): Promise<void>;
}

export async function startGateway(setup: GatewaySetup): Promise<Gateway> {
  const file = new URL(`../../../deploy/envoy/${setup.bootstrap}.yaml`, import.meta.url);
  const text = adapt(await readFile(file, 'utf8'), setup);
  const envoy = await launchEnvoy({ bootstrap: setup.edit?.(text) ?? text });
  const port = envoy.ports.listeners.gateway!;
  async function stat(name: string): Promise<number> {
    const page = await envoy.admin(`/stats?filter=${encodeURIComponent(`^${name}$`)}`);
    return Number(/: (\d+)/.exec(page)?.[1] ?? 0);
  }
  if (!setup.unhealthy) {
    await waitUntil(
      async () => (await stat('cluster.picker.membership_healthy')) >= setup.pickers.length,
      {
        what: 'Envoy to find the pickers healthy',
        describe: () => envoy.process.output(),
      },
    );
  }
  return { envoy, port, url: `http://127.0.0.1:${port}`, stat, stop: () => envoy.stop() };
}

/** Puts the ports of the test where the bootstrap has its examples. */
function adapt(text: string, setup: GatewaySetup): string {
  const [first = 1, second = 1] = setup.pool ?? [];
  let adapted = text
    .replace('address: 0.0.0.0, port_value: 10000', 'address: 127.0.0.1, port_value: 0')
    .replaceAll('port_value: 8001', `port_value: ${first}`)
    .replaceAll('port_value: 8002', `port_value: ${second}`)
    .replaceAll('127.0.0.1:8001', `127.0.0.1:${first}`)
    .replaceAll('127.0.0.1:8002', `127.0.0.1:${second}`)
    .replace('port_value: 8080', `port_value: ${setup.plain ?? 1}`)
    .replace('port_value: 1063', `port_value: ${setup.gatewayProcessor ?? 1}`)
    .replace(/( *)(- endpoint: .*)port_value: 9002(.*)/, (_, indent, before, after) =>
      setup.pickers.map((port) => `${indent}${before}port_value: ${port}${after}`).join('\n'),
    );
  if (!setup.healthAsPublished) {
    // Changes of a picker should be noticed soon, but a busy machine is not a dead picker.
    adapted = adapted
      .replace(/interval: (1s|0\.5s)/g, 'interval: 0.1s')
      .replace('- timeout: 2s', '- timeout: 20s');
  }
  if (setup.plaintext) {
    adapted = withoutBlock(withoutBlock(adapted, 'transport_socket:'), 'tls_options:');
  }
  return adapted;
}

/** Takes out the first line that begins with `start` and all lines that are indented below it. */
export function withoutBlock(text: string, start: string): string {
  const lines = text.split('\n');
  const indent = (line: string): number => line.search(/\S/);
  const from = lines.findIndex((line) => line.trim().startsWith(start));
  if (from < 0) return text;
  let to = from + 1;
  while (to < lines.length && indent(lines[to]!) > indent(lines[from]!)) to++;
  lines.splice(from, to - from);
  return lines.join('\n');
}
