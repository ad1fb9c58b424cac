/**
 * The pick of one request: what its headers say that matters for it, and the pick itself, made once
 * when the request half decides that it is time.
 *
 * An `x-request-id` alone is no identity: gateways and agents give one to a whole chain of requests.
 * Streams are of one request when method, path and the body's length and checksum are the same as
 * well; where the body is hidden its announced length, where it comes after the pick neither.
 */

import { crc32 } from 'node:zlib';
import type { Wait, Waiter } from '@leadsman/scheduling/scheduler';
import type { BodyMode } from '../body-mode.ts';
import { Counter } from '../counters.ts';
import { header } from '../headers.ts';
import { poolMetadata } from '../pool-selector.ts';
import type { HeaderList } from '../protobuf/header-list.ts';
import type { ProcessingRequest } from '../protobuf/processing-request.ts';
import { computes } from '../request/inference-call.ts';
import type { RequestFields } from '../request/request-fields.ts';
import type { ExchangeStream } from '../transport/stream.ts';
import type { ExchangeContext } from './context.ts';
import { splitList, subsetHint } from './gateway-hints.ts';
import { isGrpcRequest, isUpgrade } from './request-headers.ts';
import type { Reservation } from './reservation.ts';

export class RequestPick {
  readonly #context: ExchangeContext;
  readonly #reservation: Reservation;
  #poolName = '';
  #requestId = '';
  /** Method, path and announced length. */
  #shape = '';
  #bodyBytes = 0;
  #bodyChecksum = 0;
  #isGrpc = false;
  #computes = true;
  #gateway: ExchangeStream | undefined;
  #headers: HeaderList | undefined;
  #subset: readonly string[] | undefined;

  constructor(context: ExchangeContext, reservation: Reservation) {
    this.#context = context;
    this.#reservation = reservation;
  }

  /** Refusals need a gRPC status. */
  get isGrpc(): boolean {
    return this.#isGrpc;
  }

  /** Reads the request headers. False: it cannot be told which pool the request is for. */
  read(message: ProcessingRequest, stream: ExchangeStream, mode: BodyMode): boolean {
    const { headers } = message;
    this.#headers = headers;
    this.#gateway = stream;
    this.#requestId = headers?.get(header.requestId) ?? '';
    this.#isGrpc = isGrpcRequest(headers);
    const method = headers?.get(header.method);
    const path = headers?.get(header.path);
    this.#computes = headers === undefined || computes(method, path, isUpgrade(headers));
    // Where a body is shown, filters after the first may see no length any more.
    const length = mode.showsBody ? undefined : headers?.get(header.contentLength);
    this.#shape = `${method ?? ''}\n${path ?? ''}\n${length ?? ''}`;
    this.#subset = this.#subsetOf(message);
    const metadata = stream.metadata(poolMetadata);
    const poolName = this.#context.pools.select(metadata, stream.authority, stream.localPort);
    if (poolName === undefined) return false;
    this.#poolName = poolName;
    return true;
  }

  /** Bytes of the body came before the pick. */
  sawBody(bytes: Uint8Array): void {
    if (this.#requestId === '') return;
    this.#bodyBytes += bytes.length;
    this.#bodyChecksum = crc32(bytes, this.#bodyChecksum);
  }

  /** Joins a request that another stream has picked for; its destination, else undefined. */
  join(): string | undefined {
    return this.#reservation.join(this.#poolName, this.#identity);
  }

  /** Asks for leave to pick with what is known of the body; see `Scheduler.admit`. */
  admit(fields: RequestFields | undefined, heldBytes: number, waiter: Waiter): Wait | undefined {
    const { scheduler, facts } = this.#context;
    this.#setFacts(fields);
    try {
      return scheduler.admit(facts, heldBytes, waiter);
    } finally {
      facts.clear();
    }
  }

  /**
   * Picks, with what is known of the body, and takes the reservation. Gives the destination;
   * `undefined`: nobody was picked, and `context.pick` says why.
   */
  make(fields: RequestFields | undefined): string | undefined {
    const { scheduler, counters, log, pick, facts } = this.#context;
    const joined = this.join();
    if (joined !== undefined) return joined;
    this.#setFacts(fields);
    try {
      scheduler.pick(facts, pick);
    } finally {
      facts.clear();
    }
    if (pick.status !== 'picked') {
      if (pick.reason === 'pool_empty') log.askedForEmptyPool(this.#poolName, this.#gateway!);
      return undefined;
    }
    counters.add(Counter.picks);
    this.#reservation.take(this.#poolName, this.#identity, pick.ticket, pick.destination);
    return pick.destination;
  }

  /** Drops what only the pick needed. May be called repeatedly. */
  forget(): void {
    this.#headers = undefined;
    this.#subset = undefined;
  }

  /** '' where the gateway gives no id: then the stream is a request of its own. */
  get #identity(): string {
    if (this.#requestId === '') return '';
    return `${this.#requestId}\n${this.#shape}\n${this.#bodyBytes}\n${this.#bodyChecksum}`;
  }

  #setFacts(fields: RequestFields | undefined): void {
    const { facts, nowMs } = this.#context;
    facts.requestId = this.#requestId;
    facts.poolName = this.#poolName;
    facts.headers = this.#headers;
    facts.subset = this.#subset;
    facts.computes = this.#computes;
    facts.nowMs = nowMs();
    facts.setFields(fields);
  }

  #subsetOf(message: ProcessingRequest): readonly string[] | undefined {
    if (this.#context.options.conformance) {
      const selection = message.headers?.get(header.conformanceSelection);
      if (selection !== undefined) return splitList(selection);
    }
    return subsetHint(message);
  }
}
