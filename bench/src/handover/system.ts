/**
 * One node under load: engines, their sidecars in exporter mode `auto`, an agent that comes and
 * goes, NATS, and a collector thread whose view is watched.
 */

import type { ChildProcess } from 'node:child_process';
import { type EmbeddedCollector, startEmbeddedCollector } from '@leadsman/collector';
import { createLogger } from '@leadsman/service';
import { SharedMemory } from '@leadsman/service/processes/shared-memory';
import {
  type EngineProcess,
  launchEngineSimulators,
  launchService,
  type ServiceProcess,
  waitUntil,
} from '@leadsman/testing';
import { createView } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { Brokers } from '../fleet/brokers.ts';
import { endChild, nextMessage, startChild } from '../fleet/child.ts';
import type {
  PauseMessage,
  SidecarsMessage,
  SidecarsTask,
  WaysMessage,
} from './sidecars-process.ts';
import { ViewWatch } from './view-watch.ts';

export interface HandoverOptions {
  sidecars: number;
  intervalMs: number;
  /** Oldest report that may be visible, ms. */
  boundMs: number;
}

const waitMs = 30_000;

export class HandoverSystem {
  readonly watch: ViewWatch;
  readonly #options: HandoverOptions;
  readonly #brokers: Brokers;
  readonly #collector: EmbeddedCollector;
  readonly #engines: EngineProcess;
  readonly #load: ChildProcess;
  readonly #task: SidecarsTask;
  #sidecars: ChildProcess;
  #agent: ServiceProcess;
  /** The port of the first agent, which all later ones take. */
  readonly #agentPort: number;
  #ways: WaysMessage | undefined;
  #pause: PauseMessage | undefined;

  private constructor(parts: {
    options: HandoverOptions;
    brokers: Brokers;
    collector: EmbeddedCollector;
    engines: EngineProcess;
    agent: ServiceProcess;
    view: ArrayBufferLike;
  }) {
    const { options, brokers, engines, agent } = parts;
    this.#options = options;
    this.#brokers = brokers;
    this.#collector = parts.collector;
    this.#engines = engines;
    this.#agent = agent;
    const address = agent.addresses.reports ?? '';
    this.#agentPort = Number(address.split(':').at(-1));
    this.watch = new ViewWatch(new ViewReader(parts.view), options.sidecars, options.boundMs);
    const engineUrls = engines.engines.map(({ url }) => url);
    this.#load = startChild('../handover/load-process.ts', { engineUrls });
    this.#task = {
      engineUrls,
      agentUrl: `http://${address}`,
      natsUrls: brokers.urls,
      intervalMs: options.intervalMs,
    };
    this.#sidecars = this.#startSidecars();
  }

  #startSidecars(): ChildProcess {
    const sidecars = startChild('../handover/sidecars-process.ts', this.#task);
    sidecars.on('message', (message: SidecarsMessage) => {
      if (message.type === 'ways') this.#ways = message;
      else this.#pause = message;
    });
    return sidecars;
  }

  /** Resolves when every sidecar reports by the agent, and none has a transport of its own. */
  static async start(options: HandoverOptions): Promise<HandoverSystem> {
    const brokers = await Brokers.launch(1);
    const memory = SharedMemory.create('bench');
    const view = createView({ slotsMax: 64 }, memory.allocate);
    const collector = startEmbeddedCollector({
      memory,
      view,
      feed: {
        name: 'bench collector',
        nats: {
          options: { servers: brokers.urls, name: 'bench collector' },
          subjectPrefix: 'leadsman',
        },
      },
      logLevel: 'error',
      logger: createLogger({ name: 'bench', level: 'silent' }),
      random: Math.random,
    });
    const [engines, agent] = await Promise.all([
      launchEngineSimulators(Array.from({ length: options.sidecars }, () => ({}))),
      launchAgent(brokers.urls, 0),
    ]);
    const parts = { options, brokers, collector, engines, agent, view };
    const system = new HandoverSystem(parts);
    await nextMessage(system.#load);
    await system.allBy('agent');
    await waitUntil(() => system.watch.present === options.sidecars, {
      what: 'every endpoint to appear',
    });
    return system;
  }

  /** Waits until all sidecars send by the agent, or by transports of their own. */
  async allBy(way: 'agent' | 'own'): Promise<void> {
    await waitUntil(() => this.#ways?.[way] === this.#options.sidecars, {
      what: `all reports by ${way}`,
      deadlineMs: waitMs,
      intervalMs: 5,
      describe: () => JSON.stringify(this.#ways),
    });
  }

  /** Waits until no sidecar has a transport of its own left. */
  async allClosed(): Promise<void> {
    await waitUntil(() => this.#ways?.ownOpen === 0, {
      what: 'the sidecars to close their own transports',
      deadlineMs: waitMs,
    });
  }

  /** Sidecars that have never had a transport of their own, nor loaded the code for it. */
  async renewSidecars(): Promise<void> {
    await endChild(this.#sidecars);
    this.#ways = undefined;
    this.#sidecars = this.#startSidecars();
    await this.allBy('agent');
  }

  async startAgent(): Promise<void> {
    this.#agent = await launchAgent(this.#brokers.urls, this.#agentPort);
  }

  stopAgent(): Promise<void> {
    return this.#agent.stop();
  }

  /** `SIGKILL` ends it without a word, `SIGSTOP` makes it hang, `SIGCONT` go on. */
  signalAgent(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#agent.process.kill(signal);
  }

  /** Reports that came again, on another way or in a keyframe, and were dropped. */
  get duplicates(): number {
    return this.#collector.snapshot?.ingest.duplicateReports ?? 0;
  }

  /** How the sidecars' process fared since the last call. */
  async pause(): Promise<PauseMessage> {
    this.#pause = undefined;
    this.#sidecars.send('tell');
    await waitUntil(() => this.#pause !== undefined, {
      what: 'the sidecars to answer',
      intervalMs: 2,
    });
    return this.#pause as unknown as PauseMessage;
  }

  async stop(): Promise<void> {
    this.watch.stop();
    await endChild(this.#sidecars);
    await endChild(this.#load);
    await this.#agent.stop();
    await this.#engines.stop();
    await this.#collector.stop();
    await this.#brokers.stop();
  }
}

function launchAgent(natsUrls: readonly string[], port: number): Promise<ServiceProcess> {
  return launchService({
    service: 'node-agent',
    name: 'agent',
    flags: {
      'node-name': 'node-a',
      'admin-host': '127.0.0.1',
      'admin-port': port,
      'nats-url': natsUrls.join(','),
      'log-level': 'info',
    },
    listeners: ['reports'],
  });
}
