/**
 * A sidecar's hop to its node's agent: one stream, kept open; see frame-stream.ts for its bytes.
 *
 * A frame is written in the call that gives it, or not at all: nothing is queued behind an agent that
 * does not read, and `send` then says so. All frames that were taken arrive in their order.
 *
 * For exporter mode `auto` the sink says at once whether the frame is in good hands: `send`
 * returns `true` only while the agent takes what it is given. The latest frame that such an agent
 * then fails to take is given back by `onFailed`, so that the sidecar can publish it itself without
 * a gap. While the agent is away, some frames are still offered to it, to notice its return; they
 * count as not sent, as a frame that arrives twice does no harm and one that is lost does.
 *
 * An agent that hangs, or whose machine vanished, is known by the answer that does not come. After
 * `slowMs` it is `slow`, and whoever needs the frame to arrive in time is told. After `timeoutMs` the
 * stream is given up: the sink looks when the next frame is sent, without a timer.
 *
 * Cost: a copy of the frame and a write per frame; a reading of one byte per answer.
 */
import { createConnection, type Socket } from 'node:net';
import { frameBytesMax } from '@leadsman/wire';
import type { FrameSink } from '../frame-port.ts';
import {
  agentFramesPath,
  answerAsked,
  answerOf,
  asksAnswer,
  type FrameAnswer,
  frameStreamProtocol,
  streamed,
} from './frame-stream.ts';

/** What became of a frame; `superseded`: not written, as the agent does not read. */
export type AgentOutcome = FrameAnswer | 'timeout' | 'unreachable' | 'superseded';

export interface AgentSinkOptions {
  /** `http://10.0.0.1:9410` */
  url: string;
  /** Source address, where one machine plays several pods. */
  localAddress?: string;
  /** An answer, connecting included, ms. */
  timeoutMs?: number;
  /** Distance of offers to an agent that is away, ms. */
  probeEveryMs?: number;
  nowMs?: () => number;
  /** Gives back a frame that an accepting agent did not take. */
  onFailed?: (frame: Uint8Array, outcome: AgentOutcome) => void;
  /** Called when a frame may be written again after {@link AgentSink.busy}. */
  onFree?: () => void;
  /** Time for an answer after which an accepting agent counts as slow, ms. */
  slowMs?: number;
  /**
   * Called with the frame that a slow agent has not answered, once per answer. Without it an agent
   * is never slow, and is asked for an answer only every {@link askEveryMs}: an answer wakes the
   * process up, and so does a timer, even one that was cleared in time.
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

/** How often an agent shows that it lives, where nobody waits for each answer, ms. */
const askEveryMs = 250;

/** Head of an answer to the upgrade; longer ones are nonsense, bytes. */
const headBytesMax = 4_096;

export interface AgentSink extends FrameSink {
  readonly outcomes: Readonly<Record<AgentOutcome, number>>;
  /** The latest one; `undefined` before the first answer. */
  readonly lastOutcome: AgentOutcome | undefined;
  /** Whether the agent does not read: a frame sent now would be refused. */
  readonly busy: boolean;
  /** Whether an answer is late. */
  readonly slow: boolean;
  /**
   * Gives a frame to an agent that does not accept. For one that says `forward`: it keeps the newest,
   * and sends that on if it still can.
   */
  offer(frame: Uint8Array): void;
  /** Calls `listener` whenever {@link FrameSink.connected} changes; returns the undo. */
  onState(listener: (accepting: boolean) => void): () => void;
}

/** Returns at once; nothing is opened before the first frame. */
export function agentSink(options: AgentSinkOptions): AgentSink {
  return new StreamSink(options);
}

class StreamSink implements AgentSink {
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
  readonly #slowMs: number;
  readonly #nowMs: () => number;
  readonly #listeners = new Set<(accepting: boolean) => void>();
  #socket: Socket | undefined;
  /** The agent has agreed to the stream. */
  #open = false;
  #accepting = false;
  /** Given before the stream was open; the newest wins. */
  #pending: Uint8Array | undefined;
  /** The latest frame written that no answer vouches for. */
  #latest: Uint8Array | undefined;
  /** The one that the awaited answer is about. */
  #asked: Uint8Array | undefined;
  /** Since when an answer is awaited, ms; NaN: none is. */
  #askedMs = Number.NaN;
  #answeredMs = Number.NEGATIVE_INFINITY;
  #offeredMs = Number.NEGATIVE_INFINITY;
  /** Of the answer that is awaited. */
  #slowTimer: NodeJS.Timeout | undefined;
  /** Until the first answer of a stream. */
  #opening: NodeJS.Timeout | undefined;
  #onAnswer: (() => void) | undefined;
  #closing = false;

  constructor(options: AgentSinkOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? 500;
    this.#slowMs = options.slowMs ?? slowMsDefault;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  get connected(): boolean {
    return this.#accepting;
  }

  get busy(): boolean {
    return this.#open && (this.#socket?.writableLength ?? 0) > 0;
  }

  send(frame: Uint8Array): boolean {
    const nowMs = this.#nowMs();
    this.#lookAtAnswer(nowMs);
    if (!this.#accepting) {
      if (nowMs - this.#offeredMs >= (this.#options.probeEveryMs ?? 250)) this.offer(frame);
      return false;
    }
    return this.#write(frame, nowMs);
  }

  offer(frame: Uint8Array): void {
    if (this.#accepting) return;
    const nowMs = this.#nowMs();
    this.#offeredMs = nowMs;
    if (this.#open) this.#write(frame, nowMs);
    else {
      this.#pending = frame;
      this.#socket ??= this.#dial();
    }
  }

  onState(listener: (accepting: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined) return;
    const timer = setTimeout(() => socket.destroy(), this.#timeoutMs);
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
    });
    if (!this.#open || !Number.isNaN(this.#askedMs)) {
      const answered = new Promise<void>((resolve) => {
        this.#onAnswer = resolve;
      });
      await Promise.race([answered, closed]);
    }
    // The agent ends its side when it has read ours to the end.
    this.#closing = true;
    socket.end();
    await closed;
    clearTimeout(timer);
  }

  /** Writes a frame whole, or refuses it: an agent that does not read gets nothing more. */
  #write(frame: Uint8Array, nowMs: number): boolean {
    if (this.busy) {
      this.outcomes.superseded++;
      return false;
    }
    const isAsked =
      Number.isNaN(this.#askedMs) &&
      (this.#options.onSlow !== undefined ||
        !this.#accepting ||
        nowMs - this.#answeredMs >= askEveryMs);
    if (isAsked) {
      this.#askedMs = nowMs;
      this.#asked = frame;
      if (this.#accepting && this.#options.onSlow !== undefined) this.#awaitAnswer();
    }
    this.#latest = frame;
    this.#socket?.write(streamed(frame, isAsked ? asksAnswer : 0));
    return true;
  }

  #lookAtAnswer(nowMs: number): void {
    const askedMs = this.#askedMs;
    if (!this.#open || Number.isNaN(askedMs) || nowMs - askedMs < this.#timeoutMs) return;
    // The answer may have come while this process was held up: it is read in this turn then.
    setImmediate(() => {
      if (this.#askedMs === askedMs) this.#ended(this.#socket, 'timeout');
    });
  }

  #awaitAnswer(secondTime = false): void {
    const dueMs = this.#nowMs() + this.#slowMs;
    this.#slowTimer = setTimeout(() => {
      // This process stood still itself, and could not read an answer meanwhile.
      if (!secondTime && this.#nowMs() - dueMs > timerToleranceMs) {
        this.#awaitAnswer(true);
        return;
      }
      this.slow = true;
      if (this.#latest !== undefined) this.#options.onSlow?.(this.#latest);
    }, this.#slowMs);
  }

  #dial(): Socket {
    const { hostname, port } = new URL(this.#options.url);
    const { localAddress } = this.#options;
    const buffer = new Uint8Array(512);
    let head = '';
    const onRead = (bytes: number): boolean => {
      if (this.#open) {
        this.#answers(socket, buffer, 0, bytes);
        return true;
      }
      head += Buffer.from(buffer.buffer, 0, bytes).toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0 && head.length < headBytesMax) return true;
      if (end < 0 || !/^HTTP\/1\.1 101 /.test(head)) {
        const isForward = /^HTTP\/1\.1 503 /.test(head);
        this.#ended(socket, isForward ? 'forward' : 'refused');
        return false;
      }
      this.#opened(socket);
      const rest = Buffer.from(head.slice(end + 4), 'latin1');
      this.#answers(socket, rest, 0, rest.length);
      return true;
    };
    const socket: Socket = createConnection({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || 80),
      noDelay: true,
      onread: { buffer, callback: onRead },
      ...(localAddress === undefined ? {} : { localAddress }),
    });
    socket.write(
      `GET ${agentFramesPath} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: Upgrade\r\n` +
        `upgrade: ${frameStreamProtocol}\r\n\r\n`,
    );
    socket.on('drain', () => this.#options.onFree?.());
    socket.on('error', () => this.#ended(socket, 'unreachable'));
    socket.on('close', () => this.#ended(socket, 'unreachable'));
    this.#opening = setTimeout(() => this.#ended(socket, 'timeout'), this.#timeoutMs);
    return socket;
  }

  #opened(socket: Socket): void {
    if (socket !== this.#socket) return;
    this.#open = true;
    const frame = this.#pending;
    this.#pending = undefined;
    if (frame !== undefined) this.#write(frame, this.#nowMs());
  }

  #answers(socket: Socket, bytes: Uint8Array, from: number, to: number): void {
    if (socket !== this.#socket) return;
    for (let at = from; at < to; at++) {
      const byte = bytes[at] as number;
      const outcome = answerOf(byte);
      if (outcome === undefined) {
        this.#ended(socket, 'refused');
        return;
      }
      this.#answered(outcome, (byte & answerAsked) !== 0);
    }
  }

  #answered(outcome: FrameAnswer, asked: boolean): void {
    clearTimeout(this.#opening);
    if (asked) {
      clearTimeout(this.#slowTimer);
      this.#askedMs = Number.NaN;
      if (outcome === 'accepted' && this.#latest === this.#asked) this.#latest = undefined;
    }
    this.#answeredMs = this.#nowMs();
    const wasSlow = this.slow;
    this.slow = false;
    this.outcomes[outcome]++;
    const failed = this.#accepting && outcome !== 'accepted' ? this.#latest : undefined;
    this.#settle(outcome, failed);
    if (wasSlow) this.#options.onFree?.();
    this.#onAnswer?.();
  }

  /** The stream is over, for `outcome`; called more than once for one that ends by itself. */
  #ended(socket: Socket | undefined, outcome: AgentOutcome): void {
    if (socket === undefined || socket !== this.#socket) return;
    clearTimeout(this.#opening);
    clearTimeout(this.#slowTimer);
    this.#socket = undefined;
    this.#open = false;
    this.#pending = undefined;
    this.#askedMs = Number.NaN;
    this.slow = false;
    socket.destroy();
    if (this.#closing) return;
    this.outcomes[outcome]++;
    const failed = this.#accepting ? this.#latest : undefined;
    this.#settle(outcome, failed);
    this.#options.onFree?.();
    this.#onAnswer?.();
  }

  #settle(outcome: AgentOutcome, failed: Uint8Array | undefined): void {
    this.lastOutcome = outcome;
    if (outcome !== 'accepted') this.#offeredMs = this.#nowMs();
    if (failed !== undefined) this.#latest = undefined;
    const accepting = outcome === 'accepted';
    if (accepting !== this.#accepting) {
      this.#accepting = accepting;
      for (const listener of this.#listeners) listener(accepting);
    }
    if (failed !== undefined) this.#options.onFailed?.(failed, outcome);
  }
}
