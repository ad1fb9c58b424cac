/**
 * Starts a nats-server on ports of 127.0.0.1 that the system chose.
 *
 * The server binds first (`-1`) and tells in a file what it got, so no port is guessed and then
 * lost to someone else. A server that has to come back at the same place is given the port it had.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeExit, launchProcess, type RunningProcess } from '../process/child-process.ts';
import { waitUntil } from '../process/wait-until.ts';
import { toolPath } from './required.ts';
import { toolVersion } from './tool-version.ts';

export interface NatsOptions {
  /** A fixed client port: one that an earlier server of the same test had. */
  port?: number;
  /** Text of a configuration file; ports and host in it are overruled. */
  config?: string;
  /** Joins a cluster by the cluster addresses of servers that run already. */
  cluster?: { name: string; routes: readonly string[]; port?: number };
  args?: readonly string[];
  /** Variables that the configuration names. */
  env?: Readonly<Record<string, string>>;
}

export interface NatsServer {
  readonly pid: number;
  /** `nats://127.0.0.1:<client port>` */
  readonly url: string;
  readonly ports: { client: number; monitoring: number; cluster: number | undefined };
  readonly version: string;
  readonly process: RunningProcess;
  /** `GET /varz`, `/connz?…` of the monitoring port. */
  monitor(path: string): Promise<Record<string, unknown>>;
  kill(signal?: NodeJS.Signals): boolean;
  stop(): Promise<void>;
}

/** Resolves when the server accepts clients. Rejects with its output when it does not within 10 s. */
export async function launchNats(options: NatsOptions = {}): Promise<NatsServer> {
  const command = toolPath('nats');
  const version = await toolVersion(command);
  const folder = await mkdtemp(join(tmpdir(), 'leadsman-nats-'));
  const cleanUp = () => rm(folder, { recursive: true, force: true });
  try {
    const server = await launchProcess({
      name: 'nats-server',
      command,
      args: await natsArgs(options, folder),
      ...(options.env === undefined ? {} : { env: options.env }),
    });
    void server.exited.then(cleanUp);
    const ports = await readPorts(server, folder);
    const client = portOf(ports.nats, 'client');
    const monitoring = portOf(ports.monitoring, 'monitoring');
    const stop = async () => {
      await server.stop();
      await cleanUp();
    };
    return {
      pid: server.pid,
      url: `nats://127.0.0.1:${client}`,
      ports: {
        client,
        monitoring,
        cluster: options.cluster === undefined ? undefined : portOf(ports.cluster, 'cluster'),
      },
      version,
      process: server,
      monitor: async (path) => {
        const response = await fetch(`http://127.0.0.1:${monitoring}${path}`);
        return (await response.json()) as Record<string, unknown>;
      },
      kill: (signal) => server.kill(signal),
      stop,
    };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

async function natsArgs(options: NatsOptions, folder: string): Promise<string[]> {
  const args = ['--addr', '127.0.0.1', '--port', String(options.port ?? -1)];
  args.push('--http_port', '-1', '--ports_file_dir', folder);
  if (options.config !== undefined) {
    const file = join(folder, 'nats.conf');
    await writeFile(file, options.config);
    args.push('--config', file);
  }
  if (options.cluster !== undefined) {
    args.push('--cluster_name', options.cluster.name);
    args.push('--cluster', `nats://127.0.0.1:${options.cluster.port ?? -1}`);
    if (options.cluster.routes.length > 0) args.push('--routes', options.cluster.routes.join(','));
  }
  return [...args, ...(options.args ?? [])];
}

interface PortsFile {
  nats?: string[];
  monitoring?: string[];
  cluster?: string[];
}

async function readPorts(server: RunningProcess, folder: string): Promise<PortsFile> {
  const file = join(folder, `nats-server_${server.pid}.ports`);
  const ports = await waitUntil(
    async () => {
      const ended = describeExit(server);
      if (ended !== undefined) return { ended };
      return JSON.parse(await readFile(file, 'utf8')) as PortsFile;
    },
    { what: 'the ports of nats-server', describe: () => server.output() },
  );
  if ('ended' in ports) throw new Error(ports.ended);
  return ports;
}

function portOf(urls: string[] | undefined, what: string): number {
  const port = Number(/:(\d+)$/.exec(urls?.[0] ?? '')?.[1]);
  if (!Number.isInteger(port)) throw new Error(`nats-server states no ${what} port`);
  return port;
}
