/** A real vLLM on the CPU with a tiny model of random weights, as a child process. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

export interface EngineServer {
  readonly url: string;
  /** The process that serves HTTP, unless there are several of them. */
  readonly pid: number;
  stop(): Promise<void>;
}

/** Loading PyTorch and warming up takes a minute on two cores, several on busy ones. */
const startDeadlineMs = 600_000;
const logLinesKept = 40;

/**
 * Makes the model in `folder` and starts the server, with so many processes that serve HTTP. Rejects
 * with the end of its log.
 */
export async function startEngineServer(
  python: string,
  folder: string,
  apiServers = 1,
): Promise<EngineServer> {
  const script = fileURLToPath(new URL('./make-model.py', import.meta.url));
  const made = spawnSync(python, [script, folder], { stdio: ['ignore', 'ignore', 'pipe'] });
  if (made.status !== 0) throw new Error(`no model: ${made.stderr.toString().slice(-2_000)}`);
  const entry = fileURLToPath(new URL('./serve.py', import.meta.url));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(python, [entry, ...flags(folder, port, apiServers)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: the engine core is a process of its own, and must end with it.
    detached: true,
    env: {
      ...process.env,
      HF_HUB_OFFLINE: '1',
      VLLM_CPU_KVCACHE_SPACE: '1',
      VLLM_NO_USAGE_STATS: '1',
      DO_NOT_TRACK: '1',
    },
  });
  const log: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      log.push(...chunk.toString().split('\n'));
      log.splice(0, Math.max(0, log.length - logLinesKept));
    });
  }
  const stop = () => stopGroup(child);
  try {
    await untilHealthy(url, child);
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}\n${log.join('\n')}`, { cause: error });
  }
  return { url, pid: child.pid ?? 0, stop };
}

function flags(folder: string, port: number, apiServers: number): string[] {
  return [
    ...[folder, '--served-model-name', 'tiny', '--load-format', 'dummy'],
    ...['--host', '127.0.0.1', '--port', String(port), '--dtype', 'float32'],
    ...['--max-model-len', '1024', '--max-num-seqs', '8', '--enforce-eager'],
    ...['--api-server-count', String(apiServers)],
  ];
}

async function untilHealthy(url: string, child: ChildProcess): Promise<void> {
  const deadlineMs = performance.now() + startDeadlineMs;
  while (performance.now() < deadlineMs) {
    if (child.exitCode !== null) throw new Error(`the engine ended with code ${child.exitCode}`);
    const reply = await fetch(`${url}/health`).catch(() => undefined);
    if (reply?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error('the engine was not healthy in time');
}

async function stopGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return;
  const ended = child.exitCode === null ? once(child, 'exit') : Promise.resolve([]);
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    try {
      process.kill(-child.pid, signal);
    } catch {
      break;
    }
    const timer = new Promise((resolve) => setTimeout(resolve, 10_000));
    await Promise.race([ended, timer]);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
