/** Ours: replicas that run the picker's scheduling code and tell each other of their requests. */
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import type { EngineGauges } from '@leadsman/testing';
import { PickerReplica } from './picker-replica.ts';
import type { Policy, PolicyOptions } from './policy.ts';
import type { RoutingRequest } from './request.ts';

/** What a message takes from one replica to the others, through a broker in the same cluster. */
const messageMs = 5;

interface Message {
  from: number;
  atMs: number;
  bytes: Uint8Array;
}

export interface LeadsmanOptions extends PolicyOptions {
  config: SchedulingConfig;
}

export class LeadsmanPolicy implements Policy {
  readonly #replicas: PickerReplica[];
  readonly #shareIntervalMs: number;
  readonly #nextShareMs: Float64Array;
  readonly #messages: Message[] = [];
  /** One replica, or several that cannot hear each other. */
  readonly #isAlone: boolean;
  #nowMs = 0;

  constructor(options: LeadsmanOptions) {
    this.#shareIntervalMs = options.config.replicas.shareIntervalMs;
    this.#isAlone = options.replicas === 1 || this.#shareIntervalMs === 0;
    this.#replicas = Array.from({ length: options.replicas }, (_, from) => {
      const send = (message: Uint8Array) => {
        this.#messages.push({ from, atMs: this.#nowMs + messageMs, bytes: message.slice() });
      };
      return new PickerReplica({ ...options, send }, from);
    });
    // Each replica shares at a time of its own.
    this.#nextShareMs = Float64Array.from(
      this.#replicas,
      (_, i) => (i * this.#shareIntervalMs) / options.replicas,
    );
  }

  tick(nowMs: number): void {
    this.#nowMs = nowMs;
    while (this.#messages.length > 0 && this.#messages[0]!.atMs <= nowMs) {
      const { from, bytes } = this.#messages.shift()!;
      for (const [to, replica] of this.#replicas.entries()) {
        if (to !== from) replica.exchange.receive(bytes, nowMs);
      }
    }
    for (const [i, replica] of this.#replicas.entries()) {
      replica.tick(nowMs);
      if (this.#isAlone || this.#nextShareMs[i]! > nowMs) continue;
      this.#nextShareMs[i]! += this.#shareIntervalMs;
      replica.exchange.flush(nowMs);
    }
  }

  gauges(pod: number, gauges: Readonly<EngineGauges>, measuredAtMs: number): void {
    for (const replica of this.#replicas) replica.gauges.put(pod, gauges, measuredAtMs);
  }

  pick(request: RoutingRequest, nowMs: number): number {
    return this.#replicas[request.replica]!.pick(request, nowMs);
  }

  firstToken(request: RoutingRequest): void {
    this.#replicas[request.replica]!.firstToken(request);
  }

  finished(request: RoutingRequest): void {
    this.#replicas[request.replica]!.finished(request);
  }
}
