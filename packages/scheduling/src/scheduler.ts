/**
 * What the exchange asks of the scheduler: a pick, and word of how the request went on.
 *
 * All calls are synchronous and belong to one worker. A pick that ends in `picked` counts
 * the request as in flight until {@link Scheduler.release} is called with its ticket, which must
 * happen exactly once on any end of the exchange; a second release of a ticket is ignored.
 *
 * Before a pick the exchange asks for leave ({@link Scheduler.admit}): where flow control is on the
 * request may have to wait for its turn, and the pick is made when the wait ends.
 */
import type { Endpoint } from './endpoint.ts';
import type { BlockHashes } from './prefix/block-hash.ts';

/** What is known of a request when it is picked for. */
export interface RequestFacts {
  requestId: string;
  /** `namespace/name` of the pool that the exchange resolved to. */
  poolName: string;
  /** Model or adapter that the body names; '' when unknown. */
  model: string;
  /** UTF-8 of the prompt text, bounded by the exchange; valid during the call only. */
  prompt: Uint8Array | undefined;
  /** The prompt's block hashes when the caller has them already; `prompt` is then not read. */
  blocks?: BlockHashes;
  /** Estimated tokens of the whole prompt, 0 unknown. */
  promptTokens: number;
  /** What the request allows the engine to generate, 0 unknown. */
  maxOutputTokens: number;
  /** The client asked for a stream, so the first token will be seen; false also where unknown. */
  streaming: boolean;
  /**
   * False for calls that make no model compute (tokenize, count_tokens, lists of models): they are
   * picked for, but neither counted in flight nor entered into the prefix history.
   */
  computes: boolean;
  /**
   * What engines fold into a prompt's first cache block besides its text (adapter, salts): prompts
   * of different identities share no cache. '' where there is nothing of the kind.
   */
  cacheIdentity: string;
  /**
   * The gateway's subset: `undefined` means the whole pool; a list, even an empty one, means only
   * its members.
   */
  subset: readonly string[] | undefined;
  /** First value of a request header by lower-case name. */
  header(name: string): string | undefined;
  /** Monotonic clock of the machine, ms. */
  nowMs: number;
}

/**
 * - `picked`: send it to `destination`
 * - `no_endpoint`: nothing is eligible (503)
 * - `shed`: the pool is saturated and the request may be refused (429 with `retryAfterS`)
 * - `bad_request`: the request asks for what the admin does not allow (400)
 * - `unknown_pool`: no pool of this name is known here (503)
 */
export type PickStatus = 'picked' | 'no_endpoint' | 'shed' | 'bad_request' | 'unknown_pool';

/** The caller's object that a pick is written into; one per exchange or one per worker. */
export interface PickResult {
  status: PickStatus;
  /** Why, in snake_case and of low cardinality; '' when picked as usual. */
  reason: string;
  /** `ip:port`, IPv6 in brackets; a comma list, best first, only when fallbacks are configured. */
  destination: string;
  endpoint: Endpoint | undefined;
  /** Names the request in later calls; -1 unless picked and counted. */
  ticket: number;
  /** Seconds for a `retry-after` header; 0 when none should be sent. */
  retryAfterS: number;
}

/** How a request ended. */
export interface Outcome {
  /** Tokens that were generated, -1 unknown. */
  outputTokens: number;
  /** The exchange ended before the response did. */
  aborted: boolean;
}

/**
 * How the wait for a pick ends:
 *
 * - `dispatched`: pick now, within the call
 * - `rejected-saturated`: there was no room, or room was made for a higher band (429)
 * - `rejected-ttl-expired`: it waited for as long as its band allows (429)
 * - `rejected-no-endpoints`: the pool got no endpoint in time (503)
 * - `cancelled`: the request left by itself; nobody is told
 * - `draining`: the process ends (503)
 */
export type WaitOutcome =
  | 'dispatched'
  | 'rejected-saturated'
  | 'rejected-ttl-expired'
  | 'rejected-no-endpoints'
  | 'cancelled'
  | 'draining';

/** Who waits for a pick. */
export interface Waiter {
  /**
   * The wait is over, never as `cancelled`. Called once, from within any call to the scheduler, the
   * one to `admit` included. `retryAfterS`: seconds for a `retry-after` header. Must not throw.
   */
  waitEnded(outcome: WaitOutcome, retryAfterS: number): void;
}

/** A wait, as its request holds it. */
export interface Wait {
  /** The request is gone: its waiter hears nothing more. Ignored when the wait is over. */
  leave(): void;
}

export interface Scheduler {
  /**
   * Asks for leave to pick. `undefined`: pick now. Else the waiter is told when, or that it will not
   * come to it. `heldBytes`: what the exchange holds in memory for as long as it waits. The facts
   * are read during the call only. Never throws.
   */
  admit(request: RequestFacts, heldBytes: number, waiter: Waiter): Wait | undefined;
  /** The process drains: all waits end, and those that would begin end at once. */
  endWaits(): void;
  /** Picks for one request and counts it as in flight. Never throws. */
  pick(request: RequestFacts, into: PickResult): void;
  /**
   * The gateway sent the request to another endpoint than the picked one (a fallback, a retry): its
   * count moves there, also to a member of another pool. Returns the name of the pool whose member
   * the destination is, `undefined` when it is nobody's: then the count stays where it is.
   */
  servedBy(ticket: number, destination: string): string | undefined;
  /** The first token of the response was seen. Later calls for the ticket are ignored. */
  firstToken(ticket: number): void;
  /**
   * The request never came to an engine, as the gateway refused it after the pick: what the pick
   * entered into the prefix history is taken out again. It stays in flight until its release.
   */
  withdraw(ticket: number): void;
  /**
   * The gateway could not reach the endpoint, or lost it before an answer: nobody is sent there
   * first until it shows a good sign. Includes {@link Scheduler.withdraw}.
   */
  upstreamFailed(ticket: number): void;
  /** The request ended. Unknown and already released tickets are ignored. */
  release(ticket: number, outcome: Outcome): void;
}

/** A blank {@link PickResult} to be reused. */
export function emptyPick(): PickResult {
  return {
    status: 'no_endpoint',
    reason: '',
    destination: '',
    endpoint: undefined,
    ticket: -1,
    retryAfterS: 0,
  };
}
