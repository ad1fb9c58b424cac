/// <reference path="./undici-parts.d.ts" />
/**
 * A sidecar's hop to its node's agent: one POST per frame over a kept connection.
 *
 * At most one POST is under way; a frame that comes meanwhile waits, and the next one replaces it.
 * Newest wins, so an agent that hangs costs one frame of memory. A sender whose frames speak of
 * different things keeps them back while the sink is `busy`, and sends what is newest `onFree`.
 *
 * For exporter mode `auto` the sink says at once whether the frame is in good hands: `send`
 * returns `true` only while the agent takes what it is given. A frame that such an agent then
 * fails to take is given back by `onFailed`, so that the sidecar can publish it itself without a
 * gap. While the agent is away, some frames are still offered to it, to notice its return; they
 * count as not sent, as a frame that arrives twice does no harm and one that is lost does.
 *
 * An agent answers within a few milliseconds. One that has not after `slowMs` is `slow`: it may
 * hang, and whoever needs the frame to arrive in time is told, long before the POST has failed.
 */
import { frameBytesMax } from '@leadsman/wire';
import Pool from 'undici/lib/dispatcher/pool.js';
import type { FrameSink } from '../frame-port.ts';
import { PostTimeout, postFrame } from './post-frame.ts';

export const frameContentType = 'application/vnd.leadsman.frame';
export const agentFramesPath = '/v1/frames';

/**
 * What became of a POST. `forward`: the agent has no way onward (503). `peer`: it does not believe
 * that we are this pod (403). `refused`: any other status.
 */
export type AgentOutcome =
  | 'accepted'
  | 'forward'
  | 'peer'
  | 'refused'
  | 'timeout'
  | 'unreachable'
  | 'superseded';

export interface AgentSinkOptions {
  /** `http://10.0.0.1:9410` */
  url: string;
  /** Source address, where one machine plays several pods. */
  localAddress?: string;
  /** A POST with its answer, connecting included, ms. */
  timeoutMs?: number;
  /** Distance of offers to an agent that is away, ms. */
  probeEveryMs?: number;
  nowMs?: () => number;
  /** Gives back a frame that an accepting agent did not take. */
  onFailed?: (frame: Uint8Array, outcome: AgentOutcome) => void;
  /** Called when no POST is under way any more, and none waits. */
  onFree?: () => void;
  /** Time for an answer after which an accepting agent counts as slow, ms. */
  slowMs?: number;
  /**
   * Called with the frame that a slow agent has not answered, once per POST. Without it an agent is
   * never slow: a timer wakes the process up even when it was cleared in time.
   */
  onSlow?: (frame: Uint8Array) => void;
}

/**
 * Ten times what an answer takes on a busy machine, and half of the default scrape interval: what
 * then goes another way is still in time.
 */
const slowMsDefault = 25;

/** How late a timer may fire on a machine that is merely busy, ms. */
const timerToleranceMs = 10;

export interface AgentSink extends FrameSink {
  readonly outcomes: Readonly<Record<AgentOutcome, number>>;
  /** The latest one; `undefined` before the first answer. */
  readonly lastOutcome: AgentOutcome | undefined;
  /** Whether a POST is under way: a frame sent now waits, and may be replaced. */
  readonly busy: boolean;
  /** Whether the POST under way has been unanswered for too long. */
  readonly slow: boolean;
  /**
   * Posts a frame to an agent that does not accept, unless a POST is under way. For one that says
   * `forward`: it keeps the newest, and sends that on if it still can.
   */
  offer(frame: Uint8Array): void;
  /** Calls `listener` whenever {@link FrameSink.connected} changes; returns the undo. */
  onState(listener: (accepting: boolean) => void): () => void;
}

/** Returns at once; nothing is opened before the first frame. */
export function agentSink(options: AgentSinkOptions): AgentSink {
  return new HttpAgentSink(options);
}

class HttpAgentSink implements AgentSink {
  readonly frameBytesMax = frameBytesMax;
  readonly outcomes: Record<AgentOutcome, number> = {
    accepted: 0,
    forward: 0,
    peer: 0,
    refused: 0,
    timeout: 0,
    unreachable: 0,
    superseded: 0,
  };
  lastOutcome: AgentOutcome | undefined;
  slow = false;
  readonly #options: AgentSinkOptions;
  readonly #timeoutMs: number;
  readonly #probeEveryMs: number;
  readonly #nowMs: () => number;
  readonly #pool: Pool;
  readonly #listeners = new Set<(accepting: boolean) => void>();
  #accepting = false;
  #posting: Promise<void> | undefined;
  #waiting: Uint8Array | undefined;
  /** Of the POST under way. */
  #slowTimer: NodeJS.Timeout | undefined;
  #offeredMs = Number.NEGATIVE_INFINITY;

  constructor(options: AgentSinkOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? 500;
    this.#probeEveryMs = options.probeEveryMs ?? 250;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#pool = new Pool(options.url, {
      connections: 1,
      connect: { timeout: this.#timeoutMs },
      // Shorter than the agent's own idle limit: the client should be the one that closes.
      keepAliveTimeout: 60_000,
      ...(options.localAddress === undefined ? {} : { localAddress: options.localAddress }),
    });
  }

  get connected(): boolean {
    return this.#accepting;
  }

  get busy(): boolean {
    return this.#posting !== undefined;
  }

  send(frame: Uint8Array): boolean {
    if (!this.#accepting) {
      const nowMs = this.#nowMs();
      if (nowMs - this.#offeredMs >= this.#probeEveryMs) this.offer(frame);
      return false;
    }
    if (this.#posting === undefined) {
      this.#post(frame, true);
      return true;
    }
    if (this.#waiting !== undefined) this.outcomes.superseded++;
    this.#waiting = frame;
    return true;
  }

  offer(frame: Uint8Array): void {
    if (this.#accepting || this.#posting !== undefined) return;
    this.#offeredMs = this.#nowMs();
    this.#post(frame, false);
  }

  onState(listener: (accepting: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    // A frame that waits behind the one under way may be the last word of its sender.
    while (this.#posting !== undefined) await this.#posting;
    await this.#pool.destroy();
  }

  /** `relied`: the caller was told that the frame is in good hands. */
  #post(frame: Uint8Array, relied: boolean): void {
    if (relied && this.#options.onSlow !== undefined) this.#awaitAnswer(frame);
    this.#posting = this.#exchange(frame).then((outcome) => {
      clearTimeout(this.#slowTimer);
      this.#slowTimer = undefined;
      this.slow = false;
      this.#posting = undefined;
      this.outcomes[outcome]++;
      this.lastOutcome = outcome;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      const accepted = outcome === 'accepted';
      if (!accepted) this.#offeredMs = this.#nowMs();
      this.#setAccepting(accepted);
      if (accepted && waiting !== undefined) this.#post(waiting, true);
      if (!accepted && relied) this.#options.onFailed?.(frame, outcome);
      if (!accepted && waiting !== undefined) this.#options.onFailed?.(waiting, outcome);
      if (!this.busy) this.#options.onFree?.();
    });
  }

  #awaitAnswer(frame: Uint8Array, secondTime = false): void {
    const slowMs = this.#options.slowMs ?? slowMsDefault;
    const dueMs = this.#nowMs() + slowMs;
    this.#slowTimer = setTimeout(() => {
      // This process stood still itself, and could not read an answer meanwhile.
      if (!secondTime && this.#nowMs() - dueMs > timerToleranceMs) {
        this.#awaitAnswer(frame, true);
        return;
      }
      this.slow = true;
      this.#options.onSlow?.(frame);
    }, slowMs);
  }

  async #exchange(frame: Uint8Array): Promise<AgentOutcome> {
    const deadlineMs = this.#nowMs() + this.#timeoutMs;
    let status: number;
    try {
      status = await this.#request(frame, this.#timeoutMs);
    } catch (error) {
      // The agent may have closed the kept connection just now; frames may arrive twice.
      if (error instanceof PostTimeout) return 'timeout';
      const leftMs = deadlineMs - this.#nowMs();
      if (!isClosedSocket(error) || leftMs <= 0) return 'unreachable';
      try {
        status = await this.#request(frame, leftMs);
      } catch (second) {
        return second instanceof PostTimeout ? 'timeout' : 'unreachable';
      }
    }
    if (status === 204) return 'accepted';
    if (status === 503) return 'forward';
    return status === 403 ? 'peer' : 'refused';
  }

  #request(frame: Uint8Array, timeoutMs: number): Promise<number> {
    const options = { path: agentFramesPath, contentType: frameContentType, timeoutMs };
    return postFrame(this.#pool, frame, options);
  }

  #setAccepting(accepting: boolean): void {
    if (accepting === this.#accepting) return;
    this.#accepting = accepting;
    for (const listener of this.#listeners) listener(accepting);
  }
}

function isClosedSocket(error: unknown): boolean {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
}
