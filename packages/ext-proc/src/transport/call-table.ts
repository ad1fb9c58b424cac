/**
 * The open calls of a worker: how many there are, what they hold, and which of them have been silent
 * for too long, before the first message or within one. A sweep costs some 100 ns per open call.
 */
import { Counter, type Counters } from '../counters.ts';
import type { GrpcCall } from './grpc-call.ts';
import type { TransportLimits } from './limits.ts';
import { GrpcStatus } from './stream.ts';

export class CallTable {
  readonly #limits: TransportLimits;
  readonly #counters: Counters;
  readonly #nowMs: () => number;
  /** In order of arrival. */
  readonly #calls = new Set<GrpcCall>();
  /** Those without a message yet, in order of arrival; cleaned by the sweep. */
  readonly #silent = new Set<GrpcCall>();
  #onEmpty: (() => void) | undefined;

  constructor(limits: TransportLimits, counters: Counters, nowMs: () => number) {
    this.#limits = limits;
    this.#counters = counters;
    this.#nowMs = nowMs;
  }

  get count(): number {
    return this.#calls.size;
  }

  /** Takes a call in; false when there are too many. */
  add(call: GrpcCall): boolean {
    if (this.#calls.size >= this.#limits.streamsMax) {
      this.#counters.add(Counter.streams_refused);
      return false;
    }
    call.openedAtMs = this.#nowMs();
    this.#calls.add(call);
    this.#silent.add(call);
    return true;
  }

  readonly onClosed = (call: GrpcCall): void => {
    this.#silent.delete(call);
    if (!this.#calls.delete(call)) return;
    if (this.#calls.size === 0) this.#onEmpty?.();
  };

  /** Ends calls whose first message, or the rest of one, does not come. */
  sweep(): void {
    const nowMs = this.#nowMs();
    const { firstMessageTimeoutMs, messageTimeoutMs } = this.#limits;
    for (const call of this.#calls) {
      call.recharge();
      if (!call.stalled(nowMs, messageTimeoutMs)) continue;
      this.#counters.add(Counter.streams_timed_out);
      call.fail(GrpcStatus.deadlineExceeded, 'the rest of a message did not come');
    }
    const before = nowMs - firstMessageTimeoutMs;
    for (const call of this.#silent) {
      if (call.spoken) {
        this.#silent.delete(call);
      } else if (call.openedAtMs < before) {
        this.#silent.delete(call);
        this.#counters.add(Counter.streams_timed_out);
        call.fail(GrpcStatus.deadlineExceeded, 'no message came');
      } else {
        return;
      }
    }
  }

  /** Resolves after `ms`, or, if asked to, as soon as no call is open. */
  async emptyOr(ms: number, endEarly: boolean): Promise<void> {
    if (endEarly && this.#calls.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      if (!endEarly) return;
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#onEmpty = undefined;
  }
}
