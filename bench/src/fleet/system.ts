/**
 * The system under measurement: brokers, the sender process, a collector thread as a picker has
 * one, and a reader of its view in this thread; with `--ext-proc` a whole picker besides.
 */

import type { ChildProcess } from 'node:child_process';
import { type EmbeddedCollector, startEmbeddedCollector } from '@leadsman/collector';
import { createLogger } from '@leadsman/service';
import { SharedMemory } from '@leadsman/service/processes/shared-memory';
import { waitUntil } from '@leadsman/testing';
import { createView } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { Brokers } from './brokers.ts';
import { endChild, startChild } from './child.ts';
import { FleetReader } from './fleet-reader.ts';
import type { SenderCommand, SenderMessage, SenderStatus, SenderTask } from './messages.ts';
import type { FleetOptions } from './options.ts';
import type { PickerStatus } from './picker-process.ts';
import { PickerUnderLoad } from './picker-under-load.ts';
import { cpuUsOf } from './process-cpu.ts';

const subjectPrefix = 'bench';

/** One moment's readings of every counter, for differences between two moments. */
export interface Sample {
  atMs: number;
  senders: SenderStatus;
  natsCpuUs: number;
  /** NaN while the thread is being replaced. */
  collectorCpuUs: number;
  /** This process's CPU without the collector's thread. */
  readerCpuUs: number;
  collectorFrames: number;
  collectorBytes: number;
  appliedReports: number;
  missingFrames: number;
  /** Frames that the collector's link proved too old on arrival. */
  droppedLate: number;
  stalls: number;
  /** With `--ext-proc`. */
  picker: PickerStatus | undefined;
}

export class FleetSystem {
  readonly reader: FleetReader;
  readonly collector: EmbeddedCollector;
  readonly brokers: Brokers | undefined;
  readonly picker: PickerUnderLoad | undefined;
  readonly #senders: ChildProcess;
  #status: SenderStatus | undefined;
  #lastCounts: readonly number[] | undefined;

  private constructor(
    options: FleetOptions,
    view: ArrayBufferLike,
    collector: EmbeddedCollector,
    brokers: Brokers | undefined,
    picker: PickerUnderLoad | undefined,
    collectors: readonly string[],
  ) {
    this.picker = picker;
    this.collector = collector;
    this.brokers = brokers;
    this.reader = new FleetReader(options.plan, new ViewReader(view));
    const task: SenderTask = {
      plan: options.plan,
      exporter: options.exporter,
      natsServers: brokers?.urls ?? [],
      collectors,
      subjectPrefix,
      windowMs: options.windowMs,
    };
    this.#senders = startChild('./sender-process.ts', task);
    this.#senders.on('message', (message: SenderMessage) => {
      if (message.type === 'status') this.#status = message;
      else this.#lastCounts = message.lastCounts;
    });
  }

  static async start(options: FleetOptions): Promise<FleetSystem> {
    const pods = options.plan.nodes * options.plan.podsPerNode;
    const direct = options.transport === 'direct';
    const brokers = direct ? undefined : await Brokers.launch(options.rolling ? 3 : 1);
    const memory = SharedMemory.create('bench');
    const view = createView({ slotsMax: Math.max(64, pods) }, memory.allocate);
    const listening = Promise.withResolvers<string>();
    const collector = startEmbeddedCollector({
      memory,
      view,
      feed: {
        name: 'bench collector',
        ...(brokers === undefined
          ? { direct: { host: '127.0.0.1', port: 0 } }
          : {
              nats: {
                options: { servers: brokers.urls, name: 'bench collector' },
                subjectPrefix,
              },
            }),
      },
      logLevel: 'error',
      logger: createLogger({ name: 'bench', level: 'silent' }),
      random: Math.random,
      onListening: (address) => listening.resolve(address),
    });
    const picker =
      options.extProcPerS > 0
        ? await PickerUnderLoad.launch({ natsServers: brokers?.urls ?? [], subjectPrefix })
        : undefined;
    const collectors = direct ? [await listening.promise] : [];
    if (direct && picker !== undefined) collectors.push(picker.direct);
    return new FleetSystem(options, view, collector, brokers, picker, collectors);
  }

  /** Resolves when every sender is connected and every pod is in the view. */
  async complete(pods: number): Promise<void> {
    await waitUntil(() => this.#status?.connected === this.#status?.senders && this.#status, {
      what: 'all senders to connect',
      deadlineMs: 60_000,
    });
    await waitUntil(() => this.reader.known === pods, {
      what: 'all pods to appear',
      deadlineMs: 30_000,
      describe: () => `${this.reader.known} of ${pods}`,
    });
  }

  command(command: SenderCommand): void {
    this.#senders.send(command);
  }

  async sample(): Promise<Sample> {
    const status = this.#status;
    if (status === undefined) throw new Error('the sender process has not spoken yet');
    const own = process.cpuUsage();
    const ingest = this.collector.snapshot?.ingest;
    return {
      atMs: performance.now(),
      senders: status,
      natsCpuUs: (await this.brokers?.cpuUs()) ?? 0,
      collectorCpuUs: await cpuUsOf(this.collector.pid ?? -1),
      readerCpuUs: own.user + own.system,
      collectorFrames: ingest?.frames ?? 0,
      collectorBytes: ingest?.frameBytes ?? 0,
      appliedReports: ingest?.appliedReports ?? 0,
      missingFrames: ingest?.missingFrames ?? 0,
      droppedLate: this.collector.snapshot?.nats?.counters.droppedLate ?? 0,
      stalls: ingest?.stalls ?? 0,
      picker: await this.picker?.status(),
    };
  }

  /** Stops the senders' clocks; returns the count in the last report of each pod. */
  async quiesce(): Promise<readonly number[]> {
    this.command({ type: 'stop' });
    return (await waitUntil(() => this.#lastCounts, { what: 'the senders to stop' })) ?? [];
  }

  async stop(): Promise<void> {
    this.reader.stop();
    await endChild(this.#senders);
    await this.picker?.stop();
    await this.collector.stop();
    await this.brokers?.stop();
  }
}
