/**
 * Starts an Envoy on ports of 127.0.0.1 that the system chose.
 *
 * Every listener and the admin server are bound with port 0; Envoy tells the admin address in a
 * file and the listeners' addresses at `/listeners`.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describeExit, launchProcess, type RunningProcess } from '../process/child-process.ts';
import { waitUntil } from '../process/wait-until.ts';
import { toolPath } from './required.ts';
import { toolVersion } from './tool-version.ts';

export interface EnvoyOptions {
  /** The bootstrap, as YAML or JSON text or as an object; `admin` is set here. */
  bootstrap: string | Record<string, unknown>;
  /** Event loops; default 1, as tests share few cores. */
  concurrency?: number;
  /** `warning` by default. */
  logLevel?: 'trace' | 'debug' | 'info' | 'warning' | 'error';
  args?: readonly string[];
}

export interface Envoy {
  readonly pid: number;
  readonly ports: {
    admin: number;
    /** By the listener's name. */
    listeners: Readonly<Record<string, number>>;
  };
  readonly version: string;
  readonly process: RunningProcess;
  /** Text of a page of the admin server, e.g. `/stats?filter=ext_proc`. */
  admin(path: string): Promise<string>;
  kill(signal?: NodeJS.Signals): boolean;
  stop(): Promise<void>;
}

/** Resolves when Envoy is live. Rejects with its output when it is not within 20 s. */
export async function launchEnvoy(options: EnvoyOptions): Promise<Envoy> {
  const command = toolPath('envoy');
  const version = await toolVersion(command);
  const folder = await mkdtemp(join(tmpdir(), 'leadsman-envoy-'));
  const cleanUp = () => rm(folder, { recursive: true, force: true });
  try {
    const config = join(folder, 'bootstrap.json');
    const addressFile = join(folder, 'admin-address');
    await writeFile(config, JSON.stringify(withAdmin(options.bootstrap)));
    const envoy = await launchProcess({
      name: 'envoy',
      command,
      args: [
        ...['--config-path', config, '--admin-address-path', addressFile],
        ...['--concurrency', String(options.concurrency ?? 1), '--disable-hot-restart'],
        ...['--log-level', options.logLevel ?? 'warning', ...(options.args ?? [])],
      ],
    });
    void envoy.exited.then(cleanUp);
    const admin = await adminPort(envoy, addressFile);
    const page = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${admin}${path}`);
      return response.text();
    };
    const listeners = await listenerPorts(envoy, page);
    return {
      pid: envoy.pid,
      ports: { admin, listeners },
      version,
      process: envoy,
      admin: page,
      kill: (signal) => envoy.kill(signal),
      stop: async () => {
        await envoy.stop();
        await cleanUp();
      },
    };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

function withAdmin(bootstrap: EnvoyOptions['bootstrap']): Record<string, unknown> {
  const config =
    typeof bootstrap === 'string'
      ? (parse(bootstrap, { merge: true }) as Record<string, unknown>)
      : bootstrap;
  const admin = { address: { socket_address: { address: '127.0.0.1', port_value: 0 } } };
  return { ...config, admin };
}

async function adminPort(envoy: RunningProcess, file: string): Promise<number> {
  const found = await waitUntil(
    async () => {
      const ended = describeExit(envoy);
      if (ended !== undefined) return { ended };
      const port = Number(/:(\d+)\s*$/.exec(await readFile(file, 'utf8'))?.[1]);
      return port > 0 ? { port } : undefined;
    },
    { what: "Envoy's admin address", deadlineMs: 20_000, describe: () => envoy.output() },
  );
  if (found?.port === undefined) throw new Error(found?.ended);
  return found.port;
}

interface ListenersPage {
  listener_statuses?: {
    name: string;
    local_address: { socket_address?: { port_value: number } };
  }[];
}

async function listenerPorts(
  envoy: RunningProcess,
  page: (path: string) => Promise<string>,
): Promise<Record<string, number>> {
  await waitUntil(
    async () => describeExit(envoy) !== undefined || (await page('/ready')).startsWith('LIVE'),
    { what: 'Envoy to be live', deadlineMs: 20_000, describe: () => envoy.output() },
  );
  const ended = describeExit(envoy);
  if (ended !== undefined) throw new Error(ended);
  const { listener_statuses = [] } = JSON.parse(
    await page('/listeners?format=json'),
  ) as ListenersPage;
  const ports: Record<string, number> = {};
  for (const { name, local_address } of listener_statuses) {
    const port = local_address.socket_address?.port_value;
    if (port !== undefined) ports[name] = port;
  }
  return ports;
}
