/**
 * What the faults happen to: two pickers behind Envoy on the bootstrap that we publish, NATS, two
 * nodes with an agent each, four pods with sidecar and engine, every part a process of its own.
 */
import { readFileSync } from 'node:fs';
import { Rig, waitUntil } from '@leadsman/testing';
import { type Gateway, startGateway } from '../protocol/gateway.ts';
import { type ViewEndpoint, viewOf } from '../view.ts';
import type { Part } from './cell.ts';

const workers = 2;
const subnet = 27;

/** What a fault is sent to: one process, mostly. */
export interface Victim {
  pids: readonly number[];
  /** Resolves when it has ended; undefined where its picker starts it again by itself. */
  ended: Promise<unknown> | undefined;
  /** Starts another in its place, as the kubelet would. */
  replace(): Promise<void>;
}

export class FaultSystem {
  readonly rig: Rig;
  readonly gateway: Gateway;

  private constructor(rig: Rig, gateway: Gateway) {
    this.rig = rig;
    this.gateway = gateway;
  }

  static async start(): Promise<FaultSystem> {
    const rig = await Rig.start({
      ...{ nodes: 2, podsPerNode: 2, pickers: 2, subnet, enginesApart: true, withoutGateway: true },
      engine: { speed: 2, streamTokens: 4 },
      strategy: 'expected-work',
      pickerFlags: { workers },
    });
    try {
      const ports = rig.pickers.map(({ addresses }) =>
        Number(addresses.ext_proc!.split(':').at(-1)),
      );
      const setup = { pickers: ports, healthAsPublished: true };
      const gateway = await startGateway({ bootstrap: 'original-dst', ...setup });
      rig.envoy = gateway.envoy;
      return new FaultSystem(rig, gateway);
    } catch (error) {
      await rig.stop();
      throw error;
    }
  }

  /** The process that stands for a part: the first of its kind. */
  victim(part: Part): Victim {
    const { rig } = this;
    switch (part) {
      case 'sidecar':
        return external(rig.sidecars[0]!.process, () => rig.startSidecar(0));
      case 'agent':
        return external(rig.agents[0]!.process, () => rig.startAgent(0));
      case 'nats':
        return external(rig.nats!.process, () => rig.restartNats());
      case 'picker':
        return external(rig.pickers[0]!.process, () => rig.startPicker(0));
      case 'replica': {
        const picker = rig.pickers[0]!.process;
        const all = [picker.pid, ...childrenOf(picker.pid).keys()];
        return { ...external(picker, () => rig.startPicker(0)), pids: all };
      }
      case 'engine':
        return external(rig.engines.processes[0]!.process, () => rig.engines.restart(0));
      case 'collector':
        return own(this.#childOf('collector'));
      case 'worker':
        return own(this.#childOf('worker-0'));
    }
  }

  /** Requests that the engine of {@link victim} has accepted and not answered. */
  async heldByEngine(): Promise<number> {
    const { engines } = await this.rig.engines.processes[0]!.state();
    return engines.reduce((sum, { running, waiting }) => sum + running + waiting, 0);
  }

  /**
   * What is missing until all is whole, with numbers read since `sinceMs`, in words; empty when
   * nothing is. `lost` is the pid of a process that its picker must have replaced.
   */
  async missing(sinceMs: number, lost: number | undefined): Promise<string> {
    const { rig } = this;
    const problems: string[] = [];
    for (const picker of rig.pickers) {
      const view = await viewOf(picker.adminUrl);
      const agoMs = performance.now() - sinceMs;
      // What was read before the part was back says nothing of its return.
      const isNew = (each: ViewEndpoint) => each.state === 'fresh' && each.ageMs! < agoMs;
      const fresh = view.filter(isNew).length;
      if (fresh !== rig.pods.length) problems.push(`${picker.name}: ${fresh} fresh`);
      const running = await gaugeOf(`${picker.adminUrl}/metrics`, 'leadsman_picker_workers');
      if (running !== workers) problems.push(`${picker.name}: ${running} workers`);
      const titles = childrenOf(picker.process.pid);
      if (titles.size !== workers + 1) problems.push(`${picker.name}: ${titles.size} processes`);
      if (lost !== undefined && titles.has(lost)) problems.push(`${lost} was not replaced`);
    }
    for (const [node, agent] of rig.agents.entries()) {
      const url = `http://${agent.addresses.reports}/metrics`;
      const targets = await gaugeOf(url, 'leadsman_node_agent_targets');
      if (targets !== this.rig.pods.length / rig.agents.length) {
        problems.push(`agent ${node}: ${targets} targets`);
      }
    }
    const healthy = await this.gateway.stat('cluster.picker.membership_healthy');
    if (healthy !== rig.pickers.length) problems.push(`Envoy: ${healthy} pickers`);
    return problems.join(', ');
  }

  /** Waits until nothing is missing. Rejects with what is after `deadlineMs`. */
  async untilWhole(deadlineMs: number, sinceMs = 0, lost?: number): Promise<void> {
    let missing = '';
    await waitUntil(
      async () => {
        missing = await this.missing(sinceMs, lost).catch(
          (error: Error) => `no answer: ${error.message}`,
        );
        return missing === '';
      },
      { what: 'all to be whole', deadlineMs, describe: () => missing },
    );
  }

  stop(): Promise<void> {
    return this.rig.stop();
  }

  #childOf(title: string): number {
    for (const [pid, name] of childrenOf(this.rig.pickers[0]!.process.pid)) {
      if (name.startsWith(`leadsman-picker-${title}`)) return pid;
    }
    throw new Error(`the picker has no process ${title}`);
  }
}

function external(
  process: { pid: number; exited: Promise<unknown> },
  replace: () => Promise<void>,
): Victim {
  return { pids: [process.pid], ended: process.exited, replace };
}

/** A process of a picker, which starts another in its place by itself. */
function own(pid: number): Victim {
  return { pids: [pid], ended: undefined, replace: async () => {} };
}

/** Titles of a process's children by their pids. */
export function childrenOf(pid: number): Map<number, string> {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  const titles = new Map<number, string>();
  for (const child of pids === '' ? [] : pids.split(' ').map(Number)) {
    titles.set(child, readFileSync(`/proc/${child}/cmdline`, 'latin1'));
  }
  return titles;
}

async function gaugeOf(url: string, name: string): Promise<number> {
  const page = await (await fetch(url, { signal: AbortSignal.timeout(2_000) })).text();
  return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'm').exec(page)?.[1]);
}
