/**
 * The whole system on one machine, with every real part: simulated engines, a sidecar each, an
 * agent per node, NATS, a picker, Envoy. Each part is a process of its own, started by its
 * `main.ts` with flags, and can be killed and brought back alone.
 *
 * A part that comes back listens where it did before, as it would behind a service address.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RemoteEngineOptions } from '../engine-simulator/launch.ts';
import { type EngineProcess, launchEngineSimulators } from '../engine-simulator/launch.ts';
import { type Envoy, launchEnvoy } from '../launchers/envoy.ts';
import { launchNats, type NatsServer } from '../launchers/nats.ts';
import { gatewayBootstrap, gatewayListener } from './gateway-bootstrap.ts';
import { nodeIp, nodeName, type RigPod, rigPods } from './rig-pod.ts';
import { launchService, type ServiceProcess } from './service-process.ts';

export type RigTransport = 'nats' | 'direct';

export interface RigOptions {
  nodes: number;
  podsPerNode: number;
  transport?: RigTransport;
  /** Text of a configuration file for NATS. */
  natsConfig?: string;
  /** Pace of the sidecars; default 50. */
  scrapeIntervalMs?: number;
  engine?: Omit<RemoteEngineOptions, 'host' | 'port'>;
  /** Flags of the picker besides those that the rig sets. */
  pickerFlags?: Readonly<Record<string, string | number | boolean>>;
  /** The pool's strategy; default least-load. {@link Rig.setStrategy} changes it. */
  strategy?: string;
  /** Age from which the picker trusts no report, ms; default 2,000. */
  staleAfterMs?: number;
  /** No picker process: the caller brings one and sets {@link Rig.startGateway} going. */
  withoutPicker?: boolean;
  /** Second number of the loopback addresses; default 0, the usual 127.0.x.x. */
  subnet?: number;
  /** Aborting ends the start between two steps. */
  signal?: AbortSignal;
  onStep?: (text: string) => void;
  onWarning?: (line: string) => void;
}

export class Rig {
  readonly pods: readonly RigPod[];
  readonly options: RigOptions;
  readonly sidecars: ServiceProcess[] = [];
  readonly agents: ServiceProcess[] = [];
  nats: NatsServer | undefined;
  picker: ServiceProcess | undefined;
  envoy: Envoy | undefined;
  #engines: EngineProcess | undefined;
  #folder = '';

  private constructor(options: RigOptions) {
    this.options = options;
    this.pods = rigPods(options.nodes, options.podsPerNode, options.subnet ?? 0);
  }

  /** Starts everything. What was started is stopped again when a part does not come up. */
  static async start(options: RigOptions): Promise<Rig> {
    const rig = new Rig(options);
    try {
      await rig.#start();
      return rig;
    } catch (error) {
      await rig.stop();
      throw error;
    }
  }

  get engines(): EngineProcess {
    if (this.#engines === undefined) throw new Error('the engines have not been started');
    return this.#engines;
  }

  /** `http://host:port` of Envoy's listener. */
  get gatewayUrl(): string {
    return `http://127.0.0.1:${this.envoy?.ports.listeners[gatewayListener]}`;
  }

  /** `ip:port` of a pod's engine, as the picker names it. */
  endpointOf(pod: RigPod): string {
    const { host, port } = this.engines.engines[pod.index]!;
    return `${host}:${port}`;
  }

  /** File that the picker reads its strategy from. */
  get strategyPath(): string {
    return join(this.#folder, 'strategies.yaml');
  }

  /** File that the picker reads its pool from. */
  get poolPath(): string {
    return join(this.#folder, 'pools.yaml');
  }

  /** Stops everything, traffic first. Idempotent. */
  async stop(): Promise<void> {
    await this.envoy?.stop();
    const processes = [this.picker, ...this.sidecars, ...this.agents];
    await Promise.all(processes.map((each) => each?.stop(2_000)));
    await Promise.all([this.nats?.stop(), this.#engines?.stop()]);
    if (this.#folder !== '') await rm(this.#folder, { recursive: true, force: true });
  }

  /** Starts a NATS server in place of the one that was killed, on its port. */
  async restartNats(): Promise<void> {
    this.nats = await this.#launchNats(this.nats!.ports.client);
  }

  async startAgent(nodeIndex: number): Promise<void> {
    const address = this.agents[nodeIndex]?.addresses.reports;
    this.agents[nodeIndex] = await launchService({
      service: 'node-agent',
      name: `agent of ${nodeName(nodeIndex)}`,
      flags: {
        'node-name': nodeName(nodeIndex),
        'admin-host': nodeIp(nodeIndex, this.options.subnet ?? 0),
        'admin-port': address === undefined ? 0 : portOf(address),
        ...this.#transportFlags(),
      },
      listeners: ['reports'],
      ...this.#warnings(),
    });
  }

  async startSidecar(index: number): Promise<void> {
    const pod = this.pods[index]!;
    const agent = this.agents[pod.nodeIndex]!.addresses.reports!;
    this.sidecars[index] = await launchService({
      service: 'sidecar',
      name: `sidecar of ${pod.name}`,
      flags: {
        'engine-host': pod.ip,
        'engine-ports': portOf(this.endpointOf(pod)),
        'scrape-interval-ms': this.options.scrapeIntervalMs ?? 50,
        'pod-uid': pod.uid,
        'pod-name': pod.name,
        'pod-namespace': 'demo',
        'pod-ip': pod.ip,
        'node-name': pod.node,
        'host-ip': nodeIp(pod.nodeIndex, this.options.subnet ?? 0),
        'agent-port': portOf(agent),
        'local-address': pod.ip,
        'admin-host': pod.ip,
        'admin-port': 0,
        ...this.#transportFlags(),
      },
      listeners: ['admin'],
      ...this.#warnings(),
    });
  }

  async startPicker(): Promise<void> {
    const before = this.picker?.addresses;
    const directPort = before?.direct === undefined ? undefined : portOf(before.direct);
    this.picker = await launchService({
      service: 'picker',
      name: 'picker',
      flags: {
        'ext-proc-host': '127.0.0.1',
        'ext-proc-port': before?.ext_proc === undefined ? 0 : portOf(before.ext_proc),
        'health-port': 0,
        'admin-host': '127.0.0.1',
        'admin-port': before?.admin === undefined ? 0 : portOf(before.admin),
        'pool-source': 'file',
        'pool-file': this.poolPath,
        'direct-host': '127.0.0.1',
        'direct-port': this.options.transport === 'direct' ? (directPort ?? 0) : undefined,
        'config-file': this.strategyPath,
        'stale-after-ms': this.options.staleAfterMs,
        'replica-name': 'picker-0',
        'nats-url': this.nats?.url,
        ...this.options.pickerFlags,
      },
      listeners: ['ext_proc', 'admin', ...(this.options.transport === 'direct' ? ['direct'] : [])],
      ...this.#warnings(),
    });
  }

  /** Has the picker work by another strategy from now on. */
  async setStrategy(strategy: string): Promise<void> {
    await this.#writeStrategy(strategy);
    const reply = await fetch(`${this.picker!.adminUrl}/v1/reload`, { method: 'POST' });
    if (!reply.ok) throw new Error(`the picker refused ${strategy}: ${await reply.text()}`);
  }

  /** Starts Envoy in front of the pickers at these addresses. */
  async startGateway(pickers: readonly string[]): Promise<void> {
    this.envoy = await launchEnvoy({ bootstrap: gatewayBootstrap(pickers) });
  }

  async #start(): Promise<void> {
    const { transport = 'nats', withoutPicker = false } = this.options;
    this.#folder = await mkdtemp(join(tmpdir(), 'leadsman-rig-'));
    this.#step(transport === 'nats' ? 'starting NATS and the engines' : 'starting the engines');
    const [engines, nats] = await Promise.all([
      launchEngineSimulators(
        this.pods.map((pod) => ({ ...this.options.engine, host: pod.ip, port: 0 })),
      ),
      transport === 'nats' ? this.#launchNats() : undefined,
    ]);
    this.#engines = engines;
    this.nats = nats;
    await this.#writeFiles();
    // A direct transport streams to the picker, so that one has to be there first.
    const picker = withoutPicker ? Promise.resolve() : this.startPicker();
    if (transport === 'direct') await picker;
    this.#step('starting the picker, the agents and the sidecars');
    const nodes = Array.from({ length: this.options.nodes }, (_, node) => node);
    await allStarted([picker, ...nodes.map((node) => this.startAgent(node))]);
    await allStarted(this.pods.map((pod) => this.startSidecar(pod.index)));
    if (withoutPicker) return;
    this.#step('starting Envoy');
    await this.startGateway([this.picker!.addresses.ext_proc!]);
  }

  #launchNats(port?: number): Promise<NatsServer> {
    const { natsConfig } = this.options;
    return launchNats({
      ...(port === undefined ? {} : { port }),
      ...(natsConfig === undefined ? {} : { config: natsConfig }),
    });
  }

  async #writeFiles(): Promise<void> {
    const endpoints = this.pods.map((pod) => {
      const { host, port } = this.engines.engines[pod.index]!;
      return `      - {address: ${host}, port: ${port}, podUid: ${pod.uid}, podName: ${pod.name}}`;
    });
    const pool = `pools:\n  - name: demo\n    endpoints:\n${endpoints.join('\n')}\n`;
    await writeFile(this.poolPath, pool);
    await this.#writeStrategy(this.options.strategy ?? 'least-load');
  }

  #writeStrategy(strategy: string): Promise<void> {
    const { staleAfterMs = 2_000 } = this.options;
    return writeFile(this.strategyPath, JSON.stringify({ default: { strategy, staleAfterMs } }));
  }

  #transportFlags(): Record<string, string> {
    if (this.nats !== undefined) return { 'nats-url': this.nats.url };
    return { 'collector-url': `grpc://${this.picker?.addresses.direct}` };
  }

  #warnings(): { onWarning?: (line: string) => void } {
    const { onWarning } = this.options;
    return onWarning === undefined ? {} : { onWarning };
  }

  #step(text: string): void {
    this.options.signal?.throwIfAborted();
    this.options.onStep?.(text);
  }
}

/** Waits for all, also when one fails, so that none comes up after the rig was stopped. */
async function allStarted(parts: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(parts)) {
    if (result.status === 'rejected') throw result.reason;
  }
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}
