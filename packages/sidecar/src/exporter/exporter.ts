/**
 * Where frames go, by exporter mode.
 *
 * - `pod`: the sidecar publishes by itself.
 * - `node`: to the agent of its node, and nowhere else.
 * - `auto`: to the agent while it takes frames, else by itself. Both ways may carry the same
 *   report during a hand-over; receivers take the highest (epoch, seq), so none counts twice.
 *
 * Hand-over, agent to own: the frame that the agent did not take is given back and published; the
 * transport is opened in the same moment, and sends a keyframe as soon as it is up. Own to agent:
 * the agent is offered a frame now and then; once it takes one it gets a keyframe and all that
 * follows, while the own transport stays open for a grace and takes what the agent gives back.
 *
 * An agent that hangs neither takes nor refuses: once it has answered nothing for
 * {@link ExporterOptions.slowMs} frames go both ways, until it answers again.
 *
 * At start an agent has {@link ExporterOptions.patienceMs} to answer before a transport of our own
 * is opened: a thousand pods that start under agents must not each dial the broker first.
 */
import type { AgentSink } from '@leadsman/link/agent';
import { OwnRoute } from './own-route.ts';
import type { TransportOpener } from './transport.ts';

export type ExporterMode = 'auto' | 'pod' | 'node';

export interface ExporterOptions {
  mode: ExporterMode;
  /** Makes the hop to the agent; `undefined` when this pod can have none. */
  agent: ((onFailed: (frame: Uint8Array) => void, onFree: () => void) => AgentSink) | undefined;
  /** Opens the own transport; `undefined` when none is configured. */
  open: TransportOpener | undefined;
  /** Time the agent has at start before we publish by ourselves, ms. */
  patienceMs: number;
  /** Time without an answer after which an agent counts as hanging, ms. */
  slowMs: number;
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
  /** Frames that no way took; the next keyframe makes up for them. */
  droppedFrames: number;
  /** Changes between the agent and the own transport. */
  handOvers: number;
}

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
  readonly #own: OwnRoute | undefined;
  readonly #startedAtMs: number;
  #agentEver = false;
  /** Answers of the agent when they last changed, and the first send since; see isHanging. */
  #answers = -1;
  #askedAtMs = 0;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#startedAtMs = options.nowMs();
    if (options.mode !== 'pod' && options.agent !== undefined) {
      this.#agent = options.agent((frame) => this.#takeBack(frame), options.onFree);
      this.#agent.onState((accepting) => this.#agentChanged(accepting));
    }
    if (options.mode !== 'node' && options.open !== undefined) {
      const { open, graceMs, onWay, onError } = options;
      this.#own = new OwnRoute({ open, graceMs, onReady: onWay, onError });
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
    return agent?.connected === true && agent.busy && !this.#isHanging(agent);
  }

  /** Whether an own transport is open, used or not. */
  get ownOpen(): boolean {
    return this.#own?.kind !== undefined;
  }

  /** What the agent answered last, for people. */
  get agentOutcome(): string | undefined {
    return this.#agent?.lastOutcome;
  }

  get frameBytesMax(): number {
    return this.#own?.frameBytesMax ?? Number.POSITIVE_INFINITY;
  }

  send(frame: Uint8Array): void {
    if (this.#agent?.send(frame) === true) {
      this.counters.agentFrames++;
      if (this.#isHanging(this.#agent)) {
        this.#own?.want();
        this.#own?.send(frame);
      } else this.#own?.unwant();
      return;
    }
    const waited = this.#options.nowMs() - this.#startedAtMs >= this.#options.patienceMs;
    if (this.#agent === undefined || this.#agentEver || waited) this.#own?.want();
    this.#sendOwn(frame);
  }

  async close(): Promise<void> {
    await this.#agent?.close();
    await this.#own?.close();
  }

  /** Asked for each frame: whether the agent has not answered for too long. */
  #isHanging(agent: AgentSink): boolean {
    const nowMs = this.#options.nowMs();
    if (agent.outcomes.accepted !== this.#answers) {
      this.#answers = agent.outcomes.accepted;
      this.#askedAtMs = nowMs;
    }
    return nowMs - this.#askedAtMs > this.#options.slowMs;
  }

  #sendOwn(frame: Uint8Array): void {
    if (this.#own?.send(frame) === true) this.counters.ownFrames++;
    else this.counters.droppedFrames++;
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
      this.#answers = -1;
      this.#own?.unwant();
      this.#options.onWay();
    } else this.#own?.want();
  }
}
