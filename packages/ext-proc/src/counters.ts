/**
 * What the ext_proc server of one worker counts. The numbers lie in shared memory: the worker is
 * the only writer, the main process reads them for `/metrics` whenever it likes. A double of eight
 * aligned bytes is never seen half-written on the machines Node runs on.
 *
 * Nothing here is labelled by anything that comes out of a request.
 */

export const counterNames = [
  'exchanges_started',
  'exchanges_ended',
  /** Calls ended by a reset: gateways end many exchanges so. */
  'exchanges_cancelled',
  'exchanges_unfinished',
  /** Without request headers: the gateway's filter skips them. */
  'exchanges_headers_unseen',
  /** Whose response bodies the gateway does not show. */
  'exchanges_responses_unseen',
  'picks',
  'picks_without_body',
  'picks_at_deadline',
  'duplicate_streams',
  'refused_bad_request',
  'refused_too_large',
  'refused_shed',
  'refused_no_endpoint',
  'refused_unknown_pool',
  'refused_deadline',
  'refused_error',
  /** Waits for a turn that ended by their time limit, and by the picker's going out of service. */
  'refused_waited_too_long',
  'refused_draining',
  'served_as_picked',
  'served_elsewhere',
  /** By a member of another pool of ours: the gateway asked for the wrong pool. */
  'served_by_other_pool',
  /** Errors that the gateway made itself after the pick. */
  'gateway_answers',
  /** Picks whose endpoint the gateway could not reach. */
  'upstream_failures',
  'unexpected_messages',
  'repeated_body_ends',
  'malformed_messages',
  'oversized_messages',
  'unparseable_bodies',
  'undecodable_bodies',
  'handler_errors',
  'body_bytes_echoed',
  'output_tokens',
  'sessions_opened',
  'sessions_closed',
  'sessions_refused',
  'sessions_timed_out',
  /** Idle ones of the address with most connections, closed for one of another address. */
  'sessions_displaced',
  /** Connections whose peer did not answer a ping: it is gone without a word. */
  'sessions_dead',
  'session_errors',
  'tls_failures',
  'streams_refused',
  'streams_timed_out',
  'calls_unimplemented',
  /** Requests that are no gRPC calls by their method or content type. */
  'calls_turned_away',
  /** Calls refused as the memory for bodies, calls and replies is used up. */
  'calls_without_memory',
  'compressed_messages',
  'body_memory_full',
] as const;
export type CounterName = (typeof counterNames)[number];

/** The position of each counter: `Counter.picks`. */
export const Counter = Object.fromEntries(
  counterNames.map((name, position) => [name, position]),
) as Readonly<Record<CounterName, number>>;

export const counterBytes = counterNames.length * Float64Array.BYTES_PER_ELEMENT;

export class Counters {
  readonly #values: Float64Array;

  /** Over a shared buffer of {@link counterBytes} bytes, or memory of its own. */
  constructor(buffer: ArrayBufferLike = new ArrayBuffer(counterBytes)) {
    this.#values = new Float64Array(buffer, 0, counterNames.length);
  }

  add(counter: number, amount = 1): void {
    this.#values[counter]! += amount;
  }

  get(name: CounterName): number {
    return this.#values[Counter[name]]!;
  }

  /** All counters by name, for a metrics page. */
  all(): Record<CounterName, number> {
    return Object.fromEntries(
      counterNames.map((name, position) => [name, this.#values[position]!]),
    ) as Record<CounterName, number>;
  }
}
