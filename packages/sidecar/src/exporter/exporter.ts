/**
 * Where frames go, by exporter mode.
 *
 * - `pod`: the sidecar publishes by itself.
 * - `node`: to the agent of its node, and nowhere else.
 * - `auto`: to the agent while it takes frames, else by itself. Both ways may carry the same
 *   report during a hand-over; receivers take the highest (epoch, seq), so none counts twice.
 *
 * Hand-over, agent to own: the frame that the agent did not take is given back and published; the
 * transport is opened in the same moment, and sends a keyframe as soon as it is up. An agent that
 * is about to end says so while it still sends on what it gets: until the own transport is up it
 * gets every frame. Own to agent: the agent is offered a frame now and then; once it takes one it
 * gets a keyframe and all that follows. Frames go both ways for {@link overlapMs} then, and the own
 * transport stays open for a grace and takes what the agent gives back.
 *
 * An agent that hangs neither takes nor refuses: from the moment when it is late with an answer
 * until it has been in time again for {@link overlapMs} frames go both ways as well.
 *
 * At start an agent has {@link ExporterOptions.patienceMs} to answer before a transport of our own
 * is opened: a thousand pods that start under agents must not each dial the broker first.
 */
import type { AgentSink } from '@leadsman/link/agent';
import type { Registry } from 'prom-client';
import { DirectPublishing } from './direct-publishing.ts';
import type { TransportOpener } from './transport.ts';

export type ExporterMode = 'auto' | 'pod' | 'node';

/** What the hop to the agent tells. */
export interface AgentEvents {
  onFailed: (frame: Uint8Array) => void;
  /** Only where there is another way. */
  onSlow?: (frame: Uint8Array) => void;
  onFree: () => void;
}

export interface ExporterOptions {
  mode: ExporterMode;
  /** Makes the hop to the agent; `undefined` when this pod can have none. */
  agent: ((events: AgentEvents) => AgentSink) | undefined;
  /** Opens the own transport; `undefined` when none is configured. */
  open: TransportOpener | undefined;
  /** Time the agent has at start before we publish by ourselves, ms. */
  patienceMs: number;
  /** Time an own transport stays open under a working agent, ms. */
  graceMs: number;
  nowMs: () => number;
  /** A way has just opened: send a keyframe. */
  onWay: () => void;
  /** No longer {@link Exporter.busy}: what was held back may be sent. */
  onFree: () => void;
  onError: (error: unknown) => void;
}

export interface ExporterCounters {
  agentFrames: number;
  /** Of these, what the agent did not take; it is counted again by what became of it. */
  returnedFrames: number;
  ownFrames: number;
  /** Frames that no way took for sure; the next keyframe makes up for them. */
  droppedFrames: number;
  /** Changes between the agent and the own transport. */
  handOvers: number;
}

/**
 * How long frames go both ways once an agent takes them (again): one that has just started, or goes
 * on, is slow at first. Ten reports at the default interval.
 */
export const overlapMs = 500;

export type ExporterPath = 'agent' | 'nats' | 'direct' | 'none';

export class Exporter {
  readonly counters: ExporterCounters = {
    agentFrames: 0,
    returnedFrames: 0,
    ownFrames: 0,
    droppedFrames: 0,
    handOvers: 0,
  };
  readonly #options: ExporterOptions;
  readonly #agent: AgentSink | undefined;
  readonly #own: DirectPublishing | undefined;
  readonly #startedAtMs: number;
  #agentEver = false;
  /** Until then frames go both ways. */
  #overlapUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#startedAtMs = options.nowMs();
    if (options.mode !== 'pod' && options.agent !== undefined) {
      this.#agent = options.agent({
        onFailed: (frame) => this.#takeBack(frame),
        ...(options.mode === 'auto' && options.open !== undefined
          ? { onSlow: (frame: Uint8Array) => this.#agentIsSlow(frame) }
          : {}),
        onFree: options.onFree,
      });
      this.#agent.onState((accepting) => this.#agentChanged(accepting));
    }
    if (options.mode !== 'node' && options.open !== undefined) {
      const { open, graceMs, onWay, onError } = options;
      this.#own = new DirectPublishing({ open, graceMs, onReady: onWay, onError });
      if (this.#agent === undefined) this.#own.want();
    }
  }

  /** The way frames take now. */
  get path(): ExporterPath {
    if (this.#agent?.connected === true) return 'agent';
    if (this.#own?.connected === true) return this.#own.kind as ExporterPath;
    return 'none';
  }

  /**
   * Whether a frame given now would wait behind another and might be replaced by the next: what
   * several targets have to say is better held back and sent together, as it is then.
   */
  get busy(): boolean {
    const agent = this.#agent;
    // Behind an agent that hangs nothing is held back: the own way is open.
    return agent?.connected === true && agent.busy && !agent.slow;
  }

  /** Whether an own transport is open, used or not. */
  get ownOpen(): boolean {
    return this.#own?.kind !== undefined;
  }

  /** What the agent answered last, for people. */
  get agentOutcome(): string | undefined {
    return this.#agent?.lastOutcome;
  }

  /** Registers the metrics of the own transport while it is open. */
  async registerTransport(registry: Registry): Promise<void> {
    await this.#own?.register(registry);
  }

  get frameBytesMax(): number {
    return this.#own?.frameBytesMax ?? Number.POSITIVE_INFINITY;
  }

  send(frame: Uint8Array): void {
    if (this.#agent?.send(frame) === true) {
      this.counters.agentFrames++;
      if (this.#agent.slow) this.#overlap();
      if (this.#options.nowMs() < this.#overlapUntilMs) this.#own?.send(frame);
      else this.#own?.unwant();
      return;
    }
    const waited = this.#options.nowMs() - this.#startedAtMs >= this.#options.patienceMs;
    if (this.#agent === undefined || this.#agentEver || waited) this.#own?.want();
    if (this.#sendOwn(frame)) return;
    // It refused, and may yet send on what it gets: one that ends does.
    if (this.#agent?.lastOutcome === 'forward') this.#agent.offer(frame);
  }

  async close(): Promise<void> {
    await this.#agent?.close();
    await this.#own?.close();
  }

  /** Frames go both ways from now on. */
  #overlap(): void {
    this.#overlapUntilMs = this.#options.nowMs() + overlapMs;
    this.#own?.want();
  }

  #agentIsSlow(frame: Uint8Array): void {
    this.#overlap();
    this.#own?.send(frame);
    this.#options.onFree();
  }

  #sendOwn(frame: Uint8Array): boolean {
    const sent = this.#own?.send(frame) === true;
    if (sent) this.counters.ownFrames++;
    else this.counters.droppedFrames++;
    return sent;
  }

  #takeBack(frame: Uint8Array): void {
    this.counters.returnedFrames++;
    this.#own?.want();
    this.#sendOwn(frame);
  }

  #agentChanged(accepting: boolean): void {
    if (this.#agentEver || accepting) this.counters.handOvers++;
    if (accepting) {
      this.#agentEver = true;
      this.#overlapUntilMs = this.#options.nowMs() + overlapMs;
      this.#options.onWay();
    } else this.#own?.want();
  }
}
