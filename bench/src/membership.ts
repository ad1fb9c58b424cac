/**
 * `npm run bench -- membership`: how far a picker's membership lags behind the API server, with
 * 10,000 pods in 50 pools and 200 changes a second, and how long it is behind after a 410 that
 * makes it list everything again. `lag` is from the change to the pool's new list, told.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { KubeClient, kubeconfigAccess } from '@leadsman/kube';
import { KubernetesMembership } from '@leadsman/picker';
import type { PoolMembers } from '@leadsman/scheduling/endpoint';
import { createLogger, monotonicMs } from '@leadsman/service';
import { waitUntil } from '@leadsman/testing';
import type { BenchOptions } from './main.ts';
import type { ClusterSize, FromCluster, ToCluster } from './membership/cluster-thread.ts';

export const about = 'lag of the membership behind the API server, 10,000 pods in 50 pools';

const full: ClusterSize = { pools: 50, podsPerPool: 200, changesPerS: 200, forMs: 20_000 };
const small: ClusterSize = { pools: 10, podsPerPool: 50, changesPerS: 100, forMs: 1_000 };

export async function run(options: BenchOptions): Promise<Record<string, unknown>> {
  const size = options.smoke ? small : full;
  const pods = size.pools * size.podsPerPool;
  const cluster = new Worker(new URL('./membership/cluster-thread.ts', import.meta.url), {
    workerData: size,
  });
  const heard = listen(cluster);
  const send = (message: ToCluster) => cluster.postMessage(message);
  const { kubeconfig } = await heard('ready');
  const access = await kubeconfigAccess({ text: kubeconfig });
  const before = heapBytes();
  const lags = new Lags();
  const membership = new KubernetesMembership({
    client: new KubeClient(access),
    namespaces: ['default'],
    claim: { services: ['leadsman-picker'], inferenceClass: '', isDefaultClass: false },
    logger: createLogger({ name: 'bench', level: 'silent' }),
    random: Math.random,
  });
  const sizes = new Map<string, number>();
  const startMs = monotonicMs();
  membership.start({
    poolChanged: (members) => {
      sizes.set(members.pool, members.members.length);
      lags.take(members);
    },
    poolRemoved: () => {},
  });
  const total = () => [...sizes.values()].reduce((sum, one) => sum + one, 0);
  await waitUntil(() => total() === pods, { what: 'all pods to be known', deadlineMs: 60_000 });
  const syncMs = monotonicMs() - startMs;
  const synced = heapBytes();
  const cpu = process.cpuUsage();
  send({ type: 'begin' });
  const { changes } = await heard('done');
  // The last change has to arrive, too; how long that took is a lag like all others.
  await waitUntil(() => lags.count >= changes, { what: 'every change to be told' });
  const { user, system } = process.cpuUsage(cpu);
  const after = heapBytes();
  const steady = lags.summary();

  send({ type: 'disturb' });
  const { atMs } = await heard('disturbed');
  await waitUntil(() => lags.newestMs >= atMs, { what: 'the list after 410', intervalMs: 5 });
  const result = {
    pods,
    pools: size.pools,
    changes,
    sync_ms: Math.round(syncMs),
    lag_p50_ms: steady.p50,
    lag_p99_ms: steady.p99,
    lag_max_ms: steady.max,
    behind_after_410_ms: Math.round(monotonicMs() - atMs),
    heap_bytes_per_pod: Math.round((synced - before) / pods),
    heap_growth_mb: Number(((after - synced) / 1e6).toFixed(1)),
    // Both threads: the fake cluster's work is in it.
    cpu_cores: Number(((user + system) / 1e3 / size.forMs).toFixed(2)),
  };
  await membership.stop();
  send({ type: 'stop' });
  if (!options.json) print(result);
  return result;
}

/** Lags of changes, each counted when the list that has it is told. */
class Lags {
  newestMs = 0;
  readonly #seen = new Map<string, string>();
  readonly #lagsMs: number[] = [];

  get count(): number {
    return this.#lagsMs.length;
  }

  take({ members }: PoolMembers): void {
    const now = monotonicMs();
    for (const { podName, labels } of members) {
      const { changed } = labels;
      if (changed === undefined || this.#seen.get(podName) === changed) continue;
      this.#seen.set(podName, changed);
      this.#lagsMs.push(now - Number(changed));
      this.newestMs = Math.max(this.newestMs, Number(changed));
    }
  }

  summary(): { p50: number; p99: number; max: number } {
    const sorted = [...this.#lagsMs].sort((a, b) => a - b);
    const at = (share: number) => {
      const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
      return Number(value.toFixed(1));
    };
    return { p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}

/** Waits for the cluster's next message of a type. */
function listen(cluster: Worker) {
  const messages: FromCluster[] = [];
  cluster.on('message', (message: FromCluster) => messages.push(message));
  return <T extends FromCluster['type']>(type: T) =>
    waitUntil(
      () => messages.find((message) => message.type === type) as FromCluster & { type: T },
      { what: `the cluster to say ${type}`, deadlineMs: 120_000, intervalMs: 5 },
    );
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

function print(result: Record<string, number>): void {
  for (const [name, value] of Object.entries(result)) {
    process.stdout.write(`${name.padEnd(22)} ${value}\n`);
  }
}
