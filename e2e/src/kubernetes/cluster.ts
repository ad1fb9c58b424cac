/**
 * What these tests do with a cluster: apply manifests as kubectl would, play the kubelet for pods,
 * and act as one of the chart's service accounts.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { KubeClient, KubeError, kubeconfigAccess } from '@leadsman/kube';
import { waitUntil } from '@leadsman/testing';
import { parseAllDocuments, stringify } from 'yaml';

const run = promisify(execFile);
/** Of the API server that the tests run, as `--kube-version`. */
const kubeVersion = ['--kube-version', process.env.LEADSMAN_TEST_KUBERNETES_VERSION ?? ''];
const chartFolder = fileURLToPath(new URL('../../../deploy/helm/leadsman', import.meta.url));

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  // biome-ignore lint/suspicious/noExplicitAny: manifests are looked into by path, in tests only.
  readonly [field: string]: any;
}

/** The documents of a YAML text that are objects. */
export function manifestsOf(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

/** Waits for a condition, which is its own description. */
export const until = (condition: () => boolean | Promise<boolean>, deadlineMs = 30_000) =>
  waitUntil(condition, { what: String(condition), deadlineMs });

export class Cluster {
  readonly client: KubeClient;
  readonly kubeconfig: string;
  readonly #plurals = new Map<string, { plural: string; namespaced: boolean }>();

  private constructor(client: KubeClient, kubeconfig: string) {
    this.client = client;
    this.kubeconfig = kubeconfig;
  }

  static async open(kubeconfig: string): Promise<Cluster> {
    const access = await kubeconfigAccess({ text: kubeconfig });
    return new Cluster(new KubeClient(access), kubeconfig);
  }

  close(): void {
    this.client.access.close();
  }

  /** Server-side apply; an unknown field or a wrong value is an error. */
  async apply(manifest: Manifest, options: { dryRun?: boolean } = {}): Promise<Manifest> {
    const query = {
      fieldManager: 'test',
      fieldValidation: 'Strict',
      force: true,
      ...(options.dryRun === true ? { dryRun: 'All' } : {}),
    };
    return (await this.client.json('PATCH', await this.path(manifest), {
      query,
      contentType: 'application/apply-patch+yaml',
      body: manifest,
    })) as Manifest;
  }

  async create(manifest: Manifest, options: { dryRun?: boolean } = {}): Promise<Manifest> {
    const path = (await this.path(manifest)).replace(/\/[^/]+$/, '');
    const query = options.dryRun === true ? { dryRun: 'All' } : {};
    return (await this.client.json('POST', path, { body: manifest, query })) as Manifest;
  }

  async get(manifest: Pick<Manifest, 'apiVersion' | 'kind' | 'metadata'>): Promise<Manifest> {
    return (await this.client.json('GET', await this.path(manifest))) as Manifest;
  }

  async remove(manifest: Pick<Manifest, 'apiVersion' | 'kind' | 'metadata'>): Promise<void> {
    await this.client.json('DELETE', await this.path(manifest), {
      query: { gracePeriodSeconds: 0 },
    });
  }

  async namespace(name: string, labels: Record<string, string> = {}): Promise<void> {
    await this.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
  }

  /** What the kubelet reports of a pod. */
  async reportPod(
    namespace: string,
    name: string,
    status: { ip: string; ready: boolean },
  ): Promise<void> {
    await this.client.json('PATCH', `/api/v1/namespaces/${namespace}/pods/${name}/status`, {
      contentType: 'application/merge-patch+json',
      body: {
        status: {
          phase: 'Running',
          podIP: status.ip,
          podIPs: [{ ip: status.ip }],
          conditions: [{ type: 'Ready', status: status.ready ? 'True' : 'False' }],
        },
      },
    });
  }

  /** A client with the rights of a service account. */
  async as(namespace: string, serviceAccount: string): Promise<KubeClient> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`;
    const answer = (await this.client.json('POST', path, {
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })) as { status: { token: string } };
    const config = JSON.parse(this.kubeconfig) as { users: { user: { token: string } }[] };
    config.users[0]!.user.token = answer.status.token;
    return new KubeClient(await kubeconfigAccess({ text: JSON.stringify(config) }));
  }

  private async path(
    manifest: Pick<Manifest, 'apiVersion' | 'kind' | 'metadata'>,
  ): Promise<string> {
    const { apiVersion, kind, metadata } = manifest;
    const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const { plural, namespaced } = await this.#resource(root, kind);
    const scope = namespaced ? `/namespaces/${metadata.namespace ?? 'default'}` : '';
    return `${root}${scope}/${plural}/${metadata.name}`;
  }

  async #resource(root: string, kind: string) {
    const key = `${root} ${kind}`;
    const known = this.#plurals.get(key);
    if (known !== undefined) return known;
    const { resources } = (await this.client.json('GET', root)) as {
      resources: { name: string; kind: string; namespaced: boolean }[];
    };
    const found = resources.find((one) => one.kind === kind && !one.name.includes('/'));
    if (found === undefined) throw new Error(`the API server serves no ${key}`);
    const entry = { plural: found.name, namespaced: found.namespaced };
    this.#plurals.set(key, entry);
    return entry;
  }
}

/** The status of a request that is expected to fail, or 0 when it succeeded. */
export async function statusOf(request: Promise<unknown>): Promise<number> {
  try {
    await request;
    return 0;
  } catch (error) {
    if (error instanceof KubeError) return error.status;
    throw error;
  }
}

/**
 * Renders the chart as it is in the checkout. The version is said to helm: one that was built from its
 * module knows none, and takes its cluster for Kubernetes 1.20.
 */
export async function renderChart(
  release: { name: string; namespace: string },
  values: unknown = {},
): Promise<Manifest[]> {
  const { stdout } = await withValues(
    (file) =>
      run(
        helm(),
        [
          'template',
          release.name,
          chartFolder,
          '-n',
          release.namespace,
          '-f',
          file,
          ...kubeVersion,
        ],
        { maxBuffer: 16 * 1024 * 1024 },
      ),
    values,
  );
  return manifestsOf(stdout);
}

/** `helm lint`; rejects with its output. */
export async function lintChart(values: unknown = {}): Promise<string> {
  const { stdout } = await withValues(
    (file) => run(helm(), ['lint', '--strict', chartFolder, '-f', file, ...kubeVersion]),
    values,
  );
  return stdout;
}

/** `helm` with the cluster's kubeconfig; `chart` and `values` in its arguments stand for files. */
export async function helmWith(
  kubeconfig: string,
  args: readonly string[],
  values: unknown = {},
): Promise<string> {
  return withValues(async (valuesFile, folder) => {
    const file = join(folder, 'kubeconfig');
    await writeFile(file, kubeconfig);
    const places: Record<string, string> = { chart: chartFolder, values: valuesFile };
    const { stdout } = await run(
      helm(),
      [...args.map((arg) => places[arg] ?? arg), '--kubeconfig', file],
      { env: { ...process.env, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder } },
    );
    return stdout;
  }, values);
}

async function withValues<T>(
  use: (valuesFile: string, folder: string) => Promise<T>,
  values: unknown,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'leadsman-chart-'));
  try {
    const file = join(folder, 'values.yaml');
    await writeFile(file, stringify(values));
    return await use(file, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function helm(): string {
  const path = process.env.LEADSMAN_TEST_HELM;
  if (path === undefined) throw new Error('run these tests by npm run test:k8s');
  return path;
}
