/**
 * Starts each bundled process as an image would, from a folder that has no packages, asks it how
 * it is, and ends it. What this finds: a package that does not bear bundling, a data file left
 * behind, a thread that is not found.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const startMs = 60_000;

interface Smoke {
  readonly name: string;
  readonly args: readonly string[];
  /** Listeners that must be announced; `admin` or `reports` is asked for its health. */
  readonly listeners: readonly string[];
}

/** Nothing listens there: the processes have to live with that. */
const nowhere = 'grpc://127.0.0.1:9';

function smokes(folder: string): Smoke[] {
  const admin = ['--admin-host', '127.0.0.1', '--admin-port', '0'];
  const pod = ['--pod-uid', '7b7c2f2e-0000-4000-8000-000000000001', '--pod-ip', '127.0.0.1'];
  return [
    {
      name: 'sidecar',
      args: [...admin, ...pod, '--exporter-mode', 'pod', '--collector-url', nowhere],
      listeners: ['admin'],
    },
    {
      name: 'node-agent',
      args: [...admin, '--node-name', 'node-1', '--collector-url', nowhere],
      listeners: ['reports'],
    },
    {
      name: 'collector',
      args: [...admin, '--grpc-host', '127.0.0.1', '--grpc-port', '0'],
      listeners: ['admin', 'grpc'],
    },
    {
      name: 'picker',
      args: [
        ...[...admin, '--ext-proc-host', '127.0.0.1', '--ext-proc-port', '0'],
        ...['--health-port', '0', '--direct-host', '127.0.0.1', '--direct-port', '0'],
        ...['--pool-source', 'file', '--pool-file', join(folder, 'pools.yaml'), '--workers', '1'],
      ],
      listeners: ['admin', 'ext_proc', 'direct'],
    },
    {
      name: 'injector',
      args: [
        ...[...admin, '--sidecar-file', join(folder, 'sidecar.yaml')],
        ...['--kubeconfig', join(folder, 'kubeconfig.json'), '--webhook-host', '127.0.0.1'],
      ],
      listeners: ['admin'],
    },
  ];
}

const kubeconfig = {
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'none', cluster: { server: 'https://127.0.0.1:9' } }],
  users: [{ name: 'none', user: { token: 'none' } }],
  contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
  'current-context': 'none',
};

/** The memory, MB, is of a process that has just started, and its children. Throws with the output of the first process that does not behave. */
export async function smokeAll(app: string, say: (line: string) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'leadsman-smoke-'));
  try {
    await writeFile(join(folder, 'pools.yaml'), 'pools:\n  - name: default\n    endpoints: []\n');
    await writeFile(join(folder, 'sidecar.yaml'), 'image: leadsman\n');
    await writeFile(join(folder, 'kubeconfig.json'), JSON.stringify(kubeconfig));
    for (const smoke of smokes(folder)) {
      const began = performance.now();
      const memory = await startAndStop(app, folder, smoke);
      const ms = Math.round(performance.now() - began);
      say(
        `${smoke.name}: starts, serves ${smoke.listeners.join(', ')}, stops (${ms} ms, ${memory} MB)`,
      );
    }
    await commandLine(app, folder);
    say('leadsman: injects');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function run(app: string, folder: string, name: string, args: readonly string[]) {
  const child = spawn(process.execPath, [join(app, `${name}.mjs`), ...args], {
    cwd: folder,
    // As in a pod: nothing but what the chart sets.
    env: { NODE_ENV: 'production' },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve));
  const fail = (why: string): never => {
    child.kill('SIGKILL');
    throw new Error(`${name}: ${why}\n${output}`);
  };
  return { child, ended, fail, output: () => output };
}

async function startAndStop(app: string, folder: string, smoke: Smoke): Promise<number> {
  const { child, ended, fail, output } = run(app, folder, smoke.name, smoke.args);
  const addresses = new Map<string, string>();
  const end = performance.now() + startMs;
  while (!smoke.listeners.every((listener) => addresses.has(listener))) {
    if (child.exitCode !== null) fail(`ended with ${child.exitCode}`);
    if (performance.now() > end) fail(`did not serve ${smoke.listeners.join(', ')}`);
    await delay(20);
    for (const line of output().split('\n')) {
      const found = /"listener":"(\w+)".*"address":"([^"]+)"/.exec(line);
      if (found !== null) addresses.set(found[1] ?? '', found[2] ?? '');
    }
  }
  const address = addresses.get(smoke.listeners[0] ?? '') ?? '';
  const health = await fetch(`http://127.0.0.1:${address.split(':').at(-1)}/healthz`);
  if (!health.ok) fail(`/healthz says ${health.status}`);
  const metrics = await fetch(new URL('/metrics', health.url));
  if (!metrics.ok) fail(`/metrics says ${metrics.status}`);
  const memoryKb = await residentKb(child.pid ?? 0);
  child.kill('SIGTERM');
  const late = delay(20_000, 'late', { ref: false });
  const code = await Promise.race([ended, late]);
  if (code !== 0) fail(`SIGTERM ended it with ${code}`);
  return Math.round(memoryKb / 1e3);
}

/** Of a process and its children, with what they share counted once; 0 where there is no `/proc`. */
async function residentKb(pid: number): Promise<number> {
  const read = (path: string) => readFile(`/proc/${pid}/${path}`, 'utf8').catch(() => '');
  const own = Number(/^Pss:\s+(\d+)/m.exec(await read('smaps_rollup'))?.[1] ?? 0);
  const children = (await read(`task/${pid}/children`)).split(' ').filter(Boolean).map(Number);
  const others = await Promise.all(children.map(residentKb));
  return others.reduce((sum, kb) => sum + kb, own);
}

async function commandLine(app: string, folder: string): Promise<void> {
  const { child, ended, fail, output } = run(app, folder, 'leadsman', ['inject', '-f', '-']);
  child.stdin.end('kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: engine}]}\n');
  if ((await ended) !== 0 || !output().includes('leadsman-sidecar')) fail('did not inject');
}
