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
import { type Envoy, launchEnvoy } from '../launchers/envoy.ts';
import { launchNats, type NatsServer } from '../launchers/nats.ts';
import { EngineProcesses } from './engine-processes.ts';
import { gatewayBootstrap, gatewayListener } from './gateway-bootstrap.ts';
import { agentFlags, pickerFlags, sidecarFlags, type TransportFlags } from './rig-flags.ts';
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
  /** A process for each engine, so that one of them can die alone; default one for all. */
  enginesApart?: boolean;
  /** Replicas of the picker; default 1. */
  pickers?: number;
  /** Flags of the picker besides those that the rig sets. */
  pickerFlags?: Readonly<Record<string, string | number | boolean>>;
  /** The pool's strategy; default least-load. {@link Rig.setStrategy} changes it. */
  strategy?: string;
  /** Age from which the picker trusts no report, ms; default 2,000. */
  staleAfterMs?: number;
  /** No picker process: the caller brings one and sets {@link Rig.startGateway} going. */
  withoutPicker?: boolean;
  /** No Envoy: the caller starts one and sets {@link Rig.envoy}. */
  withoutGateway?: boolean;
  /** Second number of the loopback addresses; default 0, the usual 127.0.x.x. */
  subnet?: number;
  /** Aborting ends the start between two steps. */
  signal?: AbortSignal;
  onStep?: (text: string) => void;
}

export class Rig {
  readonly pods: readonly RigPod[];
  readonly options: RigOptions;
  readonly sidecars: ServiceProcess[] = [];
  readonly agents: ServiceProcess[] = [];
  nats: NatsServer | undefined;
  readonly pickers: ServiceProcess[] = [];
  envoy: Envoy | undefined;
  #engines: EngineProcesses | undefined;
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

  get engines(): EngineProcesses {
    if (this.#engines === undefined) throw new Error('the engines have not been started');
    return this.#engines;
  }

  /** The first picker; mostly there is one. */
  get picker(): ServiceProcess | undefined {
    return this.pickers[0];
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
    const processes = [...this.pickers, ...this.sidecars, ...this.agents];
    await Promise.all(processes.map((each) => each.stop(2_000)));
    await Promise.all([this.nats?.stop(), this.#engines?.stop()]);
    if (this.#folder !== '') await rm(this.#folder, { recursive: true, force: true });
  }

  /** Starts a NATS server in place of the one that was killed, on its port. */
  async restartNats(): Promise<void> {
    this.nats = await this.#launchNats(this.nats!.ports.client);
  }

  async startAgent(nodeIndex: number): Promise<void> {
    const name = nodeName(nodeIndex);
    const node = { name, ip: nodeIp(nodeIndex, this.#subnet) };
    const former = this.agents[nodeIndex]?.addresses;
    this.agents[nodeIndex] = await launchService({
      service: 'node-agent',
      name: `agent of ${name}`,
      flags: agentFlags(node, this.#transport, former),
      listeners: ['reports'],
    });
  }

  async startSidecar(index: number): Promise<void> {
    const pod = this.pods[index]!;
    const given = {
      endpoint: this.endpointOf(pod),
      agent: this.agents[pod.nodeIndex]!.addresses.reports!,
      scrapeIntervalMs: this.options.scrapeIntervalMs ?? 50,
      subnet: this.#subnet,
    };
    this.sidecars[index] = await launchService({
      service: 'sidecar',
      name: `sidecar of ${pod.name}`,
      flags: sidecarFlags(pod, given, this.#transport),
      listeners: ['admin'],
    });
  }

  async startPicker(replica = 0): Promise<void> {
    const direct = this.options.transport === 'direct';
    const given = {
      poolPath: this.poolPath,
      strategyPath: this.strategyPath,
      staleAfterMs: this.#staleAfterMs,
      replica,
      direct,
    };
    this.pickers[replica] = await launchService({
      service: 'picker',
      name: `picker ${replica}`,
      flags: {
        ...pickerFlags(given, this.nats?.url, this.pickers[replica]?.addresses),
        ...this.options.pickerFlags,
      },
      listeners: ['ext_proc', 'admin', ...(direct ? ['direct'] : [])],
    });
  }

  /** Has the picker work by another strategy from now on. */
  async setStrategy(strategy: string): Promise<void> {
    await this.#writeStrategy(strategy);
    const reply = await fetch(`${this.picker!.adminUrl}/v1/reload`, { method: 'POST' });
    if (!reply.ok) throw new Error(`the picker refused ${strategy}: ${await reply.text()}`);
  }

  /** Has the pickers take these pods for the members of the pool. */
  async setMembers(pods: readonly RigPod[]): Promise<void> {
    const endpoints = pods.map((pod) => {
      const { host, port } = this.engines.engines[pod.index]!;
      return `      - {address: ${host}, port: ${port}, podUid: ${pod.uid}, podName: ${pod.name}}`;
    });
    const pool = `pools:\n  - name: demo\n    endpoints:\n${endpoints.join('\n')}\n`;
    await writeFile(this.poolPath, pool);
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
      EngineProcesses.launch(
        this.pods.map((pod) => ({ ...this.options.engine, host: pod.ip, port: 0 })),
        this.options.enginesApart ?? false,
      ),
      transport === 'nats' ? this.#launchNats() : undefined,
    ]);
    this.#engines = engines;
    this.nats = nats;
    await this.setMembers(this.pods);
    await this.#writeStrategy(this.options.strategy ?? 'least-load');
    // A direct transport streams to the picker, so that one has to be there first.
    const replicas = withoutPicker ? 0 : (this.options.pickers ?? 1);
    const pickers = allStarted(
      Array.from({ length: replicas }, (_, replica) => this.startPicker(replica)),
    );
    if (transport === 'direct') await pickers;
    this.#step('starting the picker, the agents and the sidecars');
    const nodes = Array.from({ length: this.options.nodes }, (_, node) => node);
    await allStarted([pickers, ...nodes.map((node) => this.startAgent(node))]);
    await allStarted(this.pods.map((pod) => this.startSidecar(pod.index)));
    if (withoutPicker || this.options.withoutGateway === true) return;
    this.#step('starting Envoy');
    await this.startGateway(this.pickers.map((picker) => picker.addresses.ext_proc!));
  }

  #launchNats(port?: number): Promise<NatsServer> {
    const { natsConfig } = this.options;
    return launchNats({
      ...(port === undefined ? {} : { port }),
      ...(natsConfig === undefined ? {} : { config: natsConfig }),
    });
  }

  #writeStrategy(strategy: string): Promise<void> {
    const pool = { strategy, staleAfterMs: this.#staleAfterMs };
    return writeFile(this.strategyPath, JSON.stringify({ default: pool }));
  }

  get #subnet(): number {
    return this.options.subnet ?? 0;
  }

  get #staleAfterMs(): number {
    return this.options.staleAfterMs ?? 2_000;
  }

  get #transport(): TransportFlags {
    return { natsUrl: this.nats?.url, directAddress: this.picker?.addresses.direct };
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
