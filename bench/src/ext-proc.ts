/**
 * What one ext_proc worker can do: exchanges per second and CPU per exchange, against a server on
 * @grpc/grpc-js that does the same work in the same run. The servers run in turns, several times,
 * so that a noisy machine is noisy for both. `ratio` compares exchanges per CPU second.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  connectionCount,
  ExchangeClient,
  streamsPerConnection,
} from './ext-proc/exchange-client.ts';
import { sendLargeBodies } from './ext-proc/large-bodies.ts';
import type { BenchOptions } from './main.ts';

export const about = 'ext_proc exchanges per CPU second, against a @grpc/grpc-js server';

type ServerName = 'leadsman' | 'grpc-js';

interface Measured {
  exchanges: number;
  failed: number;
  seconds: number;
  cpuUs: number;
}

interface Told {
  cpuUs: number;
  /** Since it was last asked. */
  loopDelayMaxMs: number;
}

async function ask(server: ChildProcess): Promise<Told> {
  server.send('tell');
  const [told] = (await once(server, 'message')) as [Told];
  return told;
}

async function startServer(name: ServerName): Promise<{ server: ChildProcess; port: number }> {
  const entry = fileURLToPath(new URL('./ext-proc/server-process.ts', import.meta.url));
  const server = fork(entry, [name], { execArgv: ['--no-warnings'] });
  const [{ port }] = (await once(server, 'message')) as [{ port: number }];
  return { server, port };
}

/** The longest pause of the event loop while large bodies are read, ms. */
async function largeBodies(mode: 'duplex' | 'buffered'): Promise<number> {
  const { server, port } = await startServer('leadsman');
  await sendLargeBodies(port, mode);
  await ask(server);
  await sendLargeBodies(port, mode);
  const { loopDelayMaxMs } = await ask(server);
  server.disconnect();
  return Math.round(loopDelayMaxMs);
}

/** One server, warmed up, for `ms`. */
async function round(name: ServerName, ms: number): Promise<Measured> {
  const { server, port } = await startServer(name);
  const client = new ExchangeClient(port);
  client.start();
  await delay(ms / 2);
  const before = {
    exchanges: client.exchanges,
    cpu: (await ask(server)).cpuUs,
    at: performance.now(),
  };
  await delay(ms);
  const seconds = (performance.now() - before.at) / 1_000;
  const exchanges = client.exchanges - before.exchanges;
  const cpu = (await ask(server)).cpuUs - before.cpu;
  await client.stop();
  server.disconnect();
  await once(server, 'exit');
  return { exchanges, failed: client.failed, seconds, cpuUs: cpu };
}

function sum(rounds: readonly Measured[]) {
  const total = { exchanges: 0, failed: 0, seconds: 0, cpuUs: 0 };
  for (const one of rounds) {
    total.exchanges += one.exchanges;
    total.failed += one.failed;
    total.seconds += one.seconds;
    total.cpuUs += one.cpuUs;
  }
  return {
    exchanges: total.exchanges,
    failed: total.failed,
    exchanges_per_s: Math.round(total.exchanges / total.seconds),
    cpu_us_per_exchange: Math.round((total.cpuUs / total.exchanges) * 10) / 10,
  };
}

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const rounds = options.smoke ? 1 : 4;
  const ms = options.smoke ? 1_000 : 4_000;
  const measured: Record<ServerName, Measured[]> = { leadsman: [], 'grpc-js': [] };
  for (let i = 0; i < rounds; i++) {
    for (const name of ['leadsman', 'grpc-js'] as const) measured[name].push(await round(name, ms));
  }
  const leadsman = sum(measured.leadsman);
  const grpcJs = sum(measured['grpc-js']);
  const ratio = grpcJs.cpu_us_per_exchange / leadsman.cpu_us_per_exchange;
  const pauses = options.smoke
    ? {}
    : {
        loop_pause_ms_20_bodies_8mb: {
          full_duplex: await largeBodies('duplex'),
          buffered: await largeBodies('buffered'),
        },
      };
  if (!options.json) {
    const row = (name: string, of: typeof leadsman): string =>
      `  ${name.padEnd(16)} ${String(of.exchanges_per_s).padStart(12)} ${String(of.cpu_us_per_exchange).padStart(18)} ${String(of.failed).padStart(8)}\n`;
    process.stdout.write(
      `ext_proc, ${connectionCount} connections x ${streamsPerConnection} streams, headers and 1 KB body, 100 endpoints\n` +
        '                   exchanges/s    CPU us/exchange   failed\n' +
        row('leadsman', leadsman) +
        row('@grpc/grpc-js', grpcJs) +
        `  exchanges per CPU second: ${ratio.toFixed(2)} times\n  ${JSON.stringify(pauses)}\n`,
    );
  }
  return {
    connections: connectionCount,
    streams_per_connection: streamsPerConnection,
    body_bytes: 1_024,
    endpoints: 100,
    leadsman,
    grpc_js: grpcJs,
    ...pauses,
    ratio: Math.round(ratio * 100) / 100,
  };
}
