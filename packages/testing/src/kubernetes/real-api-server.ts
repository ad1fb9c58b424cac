/**
 * Starts a real kube-apiserver with its etcd on 127.0.0.1: no kubelet, no controllers. What those
 * would do (status of pods, service accounts of namespaces), a test does itself.
 *
 * Authentication by tokens, authorisation by RBAC, so service accounts of the chart can be tried
 * with the rights the chart gives them.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeExit, launchProcess, type RunningProcess } from '../process/child-process.ts';
import { waitUntil } from '../process/wait-until.ts';

export interface RealApiServer {
  readonly url: string;
  /** A kubeconfig for a bearer token; without one, of a user who may do everything. */
  kubeconfig(token?: string): string;
  /** Stops the API server and leaves etcd, so that it can come back. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  stop(): Promise<void>;
}

/** Time for the first start on a busy machine; it takes some 10 s on an idle one. */
const startMs = 180_000;

export async function launchRealApiServer(binaries: {
  apiServer: string;
  etcd: string;
}): Promise<RealApiServer> {
  const folder = await mkdtemp(join(tmpdir(), 'leadsman-kube-'));
  const [etcdPort, peerPort, port] = await Promise.all([freePort(), freePort(), freePort()]);
  const adminToken = randomBytes(16).toString('hex');
  await writeKeys(folder, adminToken);
  const etcd = await launchProcess({
    name: 'etcd',
    command: binaries.etcd,
    args: etcdArgs(folder, etcdPort, peerPort),
  });
  const startApi = async () => {
    const api = await launchProcess({
      name: 'kube-apiserver',
      command: binaries.apiServer,
      args: apiServerArgs(folder, etcdPort, port),
    });
    const ended = await waitUntil(
      // A dead server will not become ready: its last words are better than the deadline.
      async () => describeExit(api) ?? ((await isReady(port, adminToken)) ? 'ready' : ''),
      {
        what: 'kube-apiserver to be ready',
        deadlineMs: startMs,
        intervalMs: 200,
        describe: () => `${etcd.output().slice(-500)}\n${api.output().slice(-3_000)}`,
      },
    );
    if (ended !== 'ready') throw new Error(ended);
    return api;
  };
  const stopAll = async (api: RunningProcess | undefined) => {
    await api?.stop(10_000);
    await etcd.stop();
    await rm(folder, { recursive: true, force: true });
  };
  let api: RunningProcess | undefined;
  try {
    api = await startApi();
  } catch (error) {
    await stopAll(api);
    throw error;
  }
  const ca = await readFile(join(folder, 'apiserver.crt'));
  const url = `https://127.0.0.1:${port}`;
  return {
    url,
    kubeconfig: (token = adminToken) => kubeconfigText(url, ca.toString('base64'), token),
    pause: async () => {
      await api?.stop(10_000);
    },
    resume: async () => {
      api = await startApi();
    },
    stop: () => stopAll(api),
  };
}

async function writeKeys(folder: string, adminToken: string): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'sec1', format: 'pem' });
  await writeFile(join(folder, 'service-account.key'), pem, { mode: 0o600 });
  await writeFile(join(folder, 'tokens.csv'), `${adminToken},admin,admin,system:masters\n`, {
    mode: 0o600,
  });
}

function etcdArgs(folder: string, clientPort: number, peerPort: number): string[] {
  const client = `http://127.0.0.1:${clientPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  return [
    ...['--name', 'test', '--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync'],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ...['--initial-cluster', `test=${peer}`],
  ];
}

function apiServerArgs(folder: string, etcdPort: number, port: number): string[] {
  const key = join(folder, 'service-account.key');
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    // The endpoints of the API's own Service may not be loopback addresses.
    '--endpoint-reconciler-type=none',
    `--secure-port=${port}`,
    `--cert-dir=${folder}`,
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${key}`,
    `--service-account-key-file=${key}`,
    '--service-cluster-ip-range=10.96.0.0/24',
    // It needs the controller that makes each namespace's default account.
    '--disable-admission-plugins=ServiceAccount',
    // As every distribution does: storage and network drivers are privileged pods.
    '--allow-privileged=true',
    '--profiling=false',
  ];
}

function isReady(port: number, token: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        path: '/readyz',
        // Only asks whether it is up; everything else uses its certificate.
        agent: new Agent({ rejectUnauthorized: false }),
        headers: { authorization: `Bearer ${token}` },
      },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    call.on('error', reject);
    call.end();
  });
}

function kubeconfigText(server: string, ca: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': ca } }],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  });
}

/** A port that was free a moment ago: neither server can be given port 0. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
