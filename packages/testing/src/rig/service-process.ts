/**
 * One of our own processes, started by its `main.ts` with flags, as users run it. Where it listens
 * is read from its log: one line `listening` per listener.
 */
import { fileURLToPath } from 'node:url';
import { describeExit, launchProcess, type RunningProcess } from '../process/child-process.ts';
import { waitUntil } from '../process/wait-until.ts';

export type ServiceName = 'sidecar' | 'node-agent' | 'collector' | 'picker';

export interface ServiceOptions {
  service: ServiceName;
  /** For messages: `sidecar pod-3`. */
  name: string;
  /** Flags by their names without dashes; undefined leaves one out. */
  flags: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Listeners without which it is not up. */
  listeners: readonly string[];
}

export interface ServiceProcess {
  readonly name: string;
  readonly process: RunningProcess;
  /** `host:port` by the listener's name. */
  readonly addresses: Readonly<Record<string, string>>;
  /** `http://host:port` of the listener `admin`. */
  readonly adminUrl: string;
  stop(graceMs?: number): Promise<void>;
}

/** Long enough for a dozen processes that start at once on two busy cores. */
const startDeadlineMs = 60_000;

/** Compiled code of our processes, so that only the first run on a machine pays for it. */
const compileCache = fileURLToPath(
  new URL('../../../../node_modules/.cache/leadsman-compile', import.meta.url),
);

/** Resolves when every listener is up. Rejects with the process's output when it is not in time. */
export async function launchService(options: ServiceOptions): Promise<ServiceProcess> {
  const main = `../../../${options.service}/src/main.ts`;
  const addresses: Record<string, string> = {};
  const child = await launchProcess({
    name: options.name,
    command: process.execPath,
    args: [fileURLToPath(new URL(main, import.meta.url)), ...flagList(options.flags)],
    env: { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? compileCache },
    onLine: (line) => readLogLine(line, addresses),
  });
  await waitUntil(
    () =>
      child.exitState !== undefined ||
      options.listeners.every((name) => addresses[name] !== undefined),
    {
      what: `${options.name} to listen (${options.listeners.join(', ')})`,
      deadlineMs: startDeadlineMs,
      describe: () => child.output(),
    },
  ).catch(async (error: unknown) => {
    await child.stop(0);
    throw error;
  });
  const ended = describeExit(child);
  if (ended !== undefined) throw new Error(ended);
  return {
    name: options.name,
    process: child,
    addresses,
    adminUrl: `http://${addresses.admin}`,
    stop: async (graceMs) => {
      await child.stop(graceMs);
    },
  };
}

function flagList(flags: ServiceOptions['flags']): string[] {
  const list: string[] = [];
  for (const [name, value] of Object.entries(flags)) {
    if (value === undefined) continue;
    if (typeof value === 'boolean') list.push(value ? `--${name}` : `--no-${name}`);
    else list.push(`--${name}`, String(value));
  }
  return list;
}

interface LogLine {
  msg?: string;
  listener?: string;
  address?: string;
}

function readLogLine(line: string, addresses: Record<string, string>): void {
  if (!line.startsWith('{')) return;
  let entry: LogLine;
  try {
    entry = JSON.parse(line) as LogLine;
  } catch {
    return;
  }
  if (entry.msg === 'listening' && entry.listener !== undefined && entry.address !== undefined) {
    addresses[entry.listener] = entry.address;
  }
}
