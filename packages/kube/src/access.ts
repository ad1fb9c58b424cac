/**
 * Where the API server is and how to prove who we are: from the pod's service account, or from
 * a kubeconfig.
 *
 * The service account's three files are read here. A kubeconfig (exec plugins, OIDC, proxies)
 * is left to `@kubernetes/client-node`, which is loaded only then: it costs about 90 MB and a
 * second, which a node agent must not pay (measured with Node 26, see docs/kubernetes.md).
 */
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { type RequestOptions, Agent as SecureAgent } from 'node:https';
import { KubeError, kubeErrorCode } from './error.ts';

export interface KubeAccess {
  readonly server: URL;
  /** The namespace this pod or context is in; `default` when nothing says. */
  readonly namespace: string;
  /** Headers, agent and TLS material, fresh for each request: tokens are rotated under us. */
  authenticate(): Promise<RequestOptions>;
  /** Closes idle connections. */
  close(): void;
}

/** Where the kubelet mounts a pod's service account. */
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * In a pod: the service account. Else the kubeconfig at `kubeconfigFile`, or where kubectl would
 * look. Throws {@link KubeError} `connect` when neither can be used.
 */
export async function openAccess(options: {
  kubeconfigFile: string;
  env: Environment;
}): Promise<KubeAccess> {
  if (options.kubeconfigFile !== '') return kubeconfigAccess({ file: options.kubeconfigFile });
  if (options.env.KUBERNETES_SERVICE_HOST) return inClusterAccess({ env: options.env });
  return kubeconfigAccess({});
}

/** The pod's own service account. The token is read for each request: it rotates hourly. */
export async function inClusterAccess(options: {
  env: Environment;
  folder?: string;
}): Promise<KubeAccess> {
  const folder = options.folder ?? serviceAccountFolder;
  const host = options.env.KUBERNETES_SERVICE_HOST ?? '';
  const port = options.env.KUBERNETES_SERVICE_PORT ?? '443';
  if (host === '') throw new KubeError(kubeErrorCode.connect, 'not in a pod: no service host');
  const ca = await readOrFail(`${folder}/ca.crt`);
  const namespace = (await readOrFail(`${folder}/namespace`)).trim() || 'default';
  const agent = new SecureAgent({ keepAlive: true, ca });
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    namespace,
    async authenticate() {
      const token = (await readOrFail(`${folder}/token`)).trim();
      return { agent, headers: { authorization: `Bearer ${token}` } };
    },
    close: () => agent.destroy(),
  };
}

/** A kubeconfig by file or by text; with neither, the default places. */
export async function kubeconfigAccess(source: {
  file?: string;
  text?: string;
}): Promise<KubeAccess> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  try {
    if (source.text !== undefined) config.loadFromString(source.text);
    else if (source.file !== undefined) config.loadFromFile(source.file);
    else config.loadFromDefault();
  } catch (cause) {
    // Only the first line: a parser goes on with an excerpt, and this file holds secrets.
    const [why] = (cause as Error).message.split('\n', 1);
    throw new KubeError(kubeErrorCode.connect, `the kubeconfig cannot be used: ${why}`);
  }
  const server = config.getCurrentCluster()?.server;
  if (server === undefined) {
    throw new KubeError(kubeErrorCode.connect, 'the kubeconfig names no cluster');
  }
  const plain = new Agent({ keepAlive: true });
  const url = new URL(server);
  return {
    server: url,
    namespace: config.getContextObject(config.currentContext)?.namespace ?? 'default',
    async authenticate() {
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      // The client makes its agents for TLS; a plain server (a proxy, a test) needs its own.
      return url.protocol === 'http:' ? { headers: options.headers ?? {}, agent: plain } : options;
    },
    close: () => plain.destroy(),
  };
}

async function readOrFail(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    // The system's text has the path, and why.
    const why = (cause as Error).message;
    throw new KubeError(kubeErrorCode.connect, `the service account cannot be read: ${why}`, {
      cause,
    });
  }
}
