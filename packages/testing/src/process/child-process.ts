/**
 * One child process as tests and the demo need it: started, watched by the reaper, its last output
 * kept for error messages, and stopped by pid.
 *
 * Children stay in our process group and session, so a terminal's Ctrl-C reaches them too.
 */
import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { forget, watch } from './reaper.ts';

/** Characters of output kept; enough for a stack trace and what led to it. */
const outputCharsMax = 16_384;

export interface ProcessOptions {
  /** For messages: `picker`, `sidecar pod-3`. */
  name: string;
  command: string;
  args?: readonly string[];
  /** Added to this process's environment; undefined removes a variable. */
  env?: Readonly<Record<string, string | undefined>>;
  cwd?: string;
  /** Each complete line of stdout and stderr. */
  onLine?: (line: string) => void;
  /** Opens an IPC channel (Node children only). */
  ipc?: boolean;
  onMessage?: (message: unknown) => void;
}

export interface ExitState {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  readonly name: string;
  readonly pid: number;
  /** Resolves when it has ended, never rejects. */
  readonly exited: Promise<ExitState>;
  readonly exitState: ExitState | undefined;
  /** The last of stdout and stderr, mixed as it came. */
  output(): string;
  /** False when it has ended already. */
  kill(signal?: NodeJS.Signals): boolean;
  send(message: object): void;
  /** SIGTERM, and SIGKILL when it is still there after `graceMs` (default 3,000). Idempotent. */
  stop(graceMs?: number): Promise<ExitState>;
}

/** Starts a process. Rejects when it cannot be started at all. */
export function launchProcess(options: ProcessOptions): Promise<RunningProcess> {
  const child = spawn(options.command, [...(options.args ?? [])], {
    env: { ...process.env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stdio: ['ignore', 'pipe', 'pipe', ...(options.ipc ? (['ipc'] as const) : [])],
  });
  let output = '';
  let exitState: ExitState | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    let rest = '';
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-outputCharsMax);
      if (options.onLine === undefined) return;
      const lines = (rest + chunk).split('\n');
      rest = (lines.pop() ?? '').slice(-outputCharsMax);
      for (const line of lines) options.onLine(line);
    });
  }
  if (options.onMessage !== undefined) child.on('message', options.onMessage);

  return new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(new Error(`${options.name} cannot be started (${options.command})`, { cause: error })),
    );
    child.once('spawn', () => {
      const pid = child.pid as number;
      watch(pid);
      const exited = new Promise<ExitState>((ended) => {
        child.once('exit', (code, signal) => {
          forget(pid);
          exitState = { code, signal };
          ended(exitState);
        });
      });
      // Without a listener a later error (a failed send) would end the test process.
      child.on('error', () => {});
      resolve({
        name: options.name,
        pid,
        exited,
        get exitState() {
          return exitState;
        },
        output: () => output,
        kill: (signal = 'SIGKILL') => exitState === undefined && child.kill(signal),
        send: (message) => {
          if (child.connected) child.send(message);
        },
        stop: async (graceMs = 3_000) => {
          if (exitState !== undefined) return exitState;
          child.kill('SIGTERM');
          // A stopped process (SIGSTOP) sees SIGTERM only when it goes on.
          child.kill('SIGCONT');
          const timer = new AbortController();
          const late = delay(graceMs, 'late', { signal: timer.signal }).catch(() => 'stopped');
          if ((await Promise.race([exited, late])) === 'late') child.kill('SIGKILL');
          timer.abort();
          return exited;
        },
      });
    });
  });
}

/** Throws with the process's last output when it has ended. For the probes of {@link waitUntil}. */
export function describeExit(child: RunningProcess): string | undefined {
  const state = child.exitState;
  if (state === undefined) return undefined;
  return `${child.name} ended (code ${state.code}, signal ${state.signal}):\n${child.output()}`;
}
