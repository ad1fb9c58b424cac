/**
 * The cluster of the membership benchmark, in a thread of its own so that it does not share the
 * picker's event loop: a fake API server, its pods, and their changes.
 *
 * Each change gives a pod a label with the moment it was made, on the clock that both threads
 * share; every tenth pod is deleted and made anew instead, as another pod.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { monotonicMs } from '@leadsman/service';
import { FakeApiServer, podObject, poolObject } from '@leadsman/testing';

export interface ClusterSize {
  readonly pools: number;
  readonly podsPerPool: number;
  readonly changesPerS: number;
  readonly forMs: number;
}

export type FromCluster =
  | { readonly type: 'ready'; readonly kubeconfig: string }
  | { readonly type: 'done'; readonly changes: number }
  | { readonly type: 'disturbed'; readonly atMs: number };
export type ToCluster = { readonly type: 'begin' | 'disturb' | 'stop' };

const size = workerData as ClusterSize;
const api = new FakeApiServer({ bookmarkMs: 1_000 });
const post = (message: FromCluster) => parentPort?.postMessage(message);
let changes = 0;

function putPod(pool: number, pod: number, labels: Record<string, string>): void {
  api.put(
    'Pod',
    podObject({
      name: `pool-${pool}-${pod}`,
      labels: { app: `pool-${pool}`, ...labels },
      ip: `10.${pool}.${pod >> 8}.${pod & 255}`,
      node: `node-${pod % 500}`,
    }),
  );
}

function change(): void {
  // A stride that visits pools and pods in no order, and all of them in the end.
  const at = (changes * 7_919) % (size.pools * size.podsPerPool);
  const [pool, pod] = [at % size.pools, Math.floor(at / size.pools)];
  if (changes % 10 === 9) api.remove('Pod', 'default', `pool-${pool}-${pod}`);
  putPod(pool, pod, { changed: String(monotonicMs()) });
  changes++;
}

function begin(): void {
  const startMs = monotonicMs();
  const timer = setInterval(() => {
    const elapsedMs = monotonicMs() - startMs;
    const due = Math.floor((Math.min(elapsedMs, size.forMs) * size.changesPerS) / 1_000);
    while (changes < due) change();
    if (elapsedMs < size.forMs) return;
    clearInterval(timer);
    post({ type: 'done', changes });
  }, 2);
}

parentPort?.on('message', ({ type }: ToCluster) => {
  if (type === 'begin') begin();
  else if (type === 'disturb') {
    // The watches fail with 410 and every version a client knows is gone.
    api.disturbWatches('gone');
    const atMs = monotonicMs();
    putPod(0, 0, { changed: String(atMs) });
    api.compact();
    post({ type: 'disturbed', atMs });
  } else void api.stop().then(() => process.exit(0));
});

for (let pool = 0; pool < size.pools; pool++) {
  api.put('InferencePool', poolObject({ name: `pool-${pool}`, selector: { app: `pool-${pool}` } }));
  for (let pod = 0; pod < size.podsPerPool; pod++) putPod(pool, pod, {});
}
await api.start();
post({ type: 'ready', kubeconfig: api.kubeconfig });
