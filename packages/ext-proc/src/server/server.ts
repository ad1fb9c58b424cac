/**
 * The ext_proc server of one worker: transport, routing of calls, and the exchanges behind.
 *
 *   http2 stream ──> GrpcCall ──┬─ …ExternalProcessor/Process ──> Exchange ──> Scheduler
 *                               └─ grpc.health.v1.Health/…    ──> HealthCall
 *
 * Several workers may listen on one port (`reusePort`); each has a server of its own and they share
 * nothing but the in-flight table behind the scheduler.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Scheduler } from '@leadsman/scheduling/scheduler';
import { BodyMode } from '../body-mode.ts';
import { ByteBudget } from '../byte-budget.ts';
import { Counter, type Counters } from '../counters.ts';
import { ExchangeContext, type ExchangeOptions } from '../exchange/context.ts';
import { Exchange } from '../exchange/exchange.ts';
import { HealthCall, healthMethodOf } from '../health/health-call.ts';
import { extProcService, type HealthState } from '../health/health-state.ts';
import { RequestRegistry } from '../in-flight/request-registry.ts';
import type { SharedRequests } from '../in-flight/shared-requests.ts';
import { type PoolRoute, PoolSelector } from '../pool-selector.ts';
import { type Logger, RateLimitedLog } from '../rate-limited-log.ts';
import { BodyReaders } from '../request/body-reader.ts';
import { CallTable } from '../transport/call-table.ts';
import { GrpcCall } from '../transport/grpc-call.ts';
import { Http2Transport, type ListenAddress, type TlsIdentity } from '../transport/http2-server.ts';
import {
  defaultTransportLimits,
  sweepIntervalMs,
  type TransportLimits,
} from '../transport/limits.ts';
import { type ExchangeHandler, GrpcStatus } from '../transport/stream.ts';

export interface ExtProcOptions {
  listen: readonly ListenAddress[];
  /** Plaintext HTTP/2 when undefined. */
  tls: TlsIdentity | undefined;
  exchange: ExchangeOptions;
  limits: TransportLimits;
  /** Body bytes that all exchanges of this worker may hold together. */
  heldBytesMax: number;
  /** Pools by the port that calls for them come in on; most pickers need none. */
  poolByPort: ReadonlyMap<number, string>;
}

export interface ExtProcDeps {
  scheduler: Scheduler;
  /** Requests that streams on other workers may join; `undefined`: there are no others. */
  sharedRequests?: SharedRequests;
  health: HealthState;
  counters: Counters;
  /** Hears of faults and of gateways that are set up wrongly; see `RateLimitedLog`. */
  logger?: Logger;
  nowMs: () => number;
}

export interface ExtProcServer {
  /** The port of each address in `listen`, in order. */
  readonly ports: readonly number[];
  /** Calls that are open now, health watches included. */
  readonly openCalls: number;
  readonly openSessions: number;
  /** HTTP requests in flight that this worker has picked for. */
  readonly requestsInFlight: number;
  /** Body bytes and replies that wait in memory now; see `ByteBudget`. */
  readonly heldBytes: number;
  setPools(pools: readonly PoolRoute[]): void;
  setIdentity(identity: TlsIdentity): void;
  /**
   * Goes out of service: health says NOT_SERVING at once; for `noticeMs` everything is still
   * served, so that gateways can notice; then peers are sent away, requests that wait for their
   * turn are refused so that another replica can take them, and open calls may finish until
   * `graceMs` after the begin. Resolves when the last call has ended or been cut off.
   */
  drain(noticeMs: number, graceMs: number): Promise<void>;
  /** Ends everything now. */
  close(): Promise<void>;
}

/** Without a limit of the container. */
export const defaultHeldBytesMax = 512 * 1_048_576;
const leastHeldBytesMax = 16 * 1_048_576;

/**
 * What the calls of one of `workers` may hold in a container of `limitBytes` (0 or beyond the
 * machine's memory: none). Heaps have half of it; a quarter is left to all workers' calls, of which
 * they may use half as much again; see `ByteBudget`.
 */
export function heldBytesMaxFor(limitBytes: number, workers: number): number {
  if (!(limitBytes > 0)) return defaultHeldBytesMax;
  const share = Math.floor(limitBytes / 4 / workers);
  return Math.max(leastHeldBytesMax, Math.min(defaultHeldBytesMax, share));
}

export const defaultExchangeOptions: ExchangeOptions = {
  requestBodyMode: BodyMode.fullDuplex,
  responseBodyMode: BodyMode.fullDuplex,
  bodyBytesMax: 32 * 1_048_576,
  bodyAboveMax: 'pick',
  decisionTimeoutMs: 10_000,
  atDecisionTimeout: 'pick',
  conformance: false,
};

/** Options for one address with everything else as it comes. */
export function extProcOptions(
  listen: ListenAddress,
  tls: TlsIdentity | undefined,
): ExtProcOptions {
  return {
    listen: [listen],
    tls,
    exchange: { ...defaultExchangeOptions },
    limits: { ...defaultTransportLimits },
    heldBytesMax: defaultHeldBytesMax,
    poolByPort: new Map(),
  };
}

/** Why a request is no gRPC call, as an HTTP status; 0: it is one. */
function httpProblem(headers: IncomingHttpHeaders): number {
  if (headers[':method'] !== 'POST') return 405;
  return /^application\/grpc(?:[+;]|$)/.test(headers['content-type'] ?? '') ? 0 : 415;
}

const processPath = `/${extProcService}/Process`;

/** Starts serving. Rejects when an address cannot be listened on. */
export async function startExtProcServer(
  options: ExtProcOptions,
  deps: ExtProcDeps,
): Promise<ExtProcServer> {
  const { counters, health, nowMs } = deps;
  const { limits } = options;
  const pools = new PoolSelector(options.poolByPort);
  const budget = new ByteBudget(options.heldBytesMax);
  const registry = new RequestRegistry(deps.sharedRequests);
  const log = new RateLimitedLog(deps.logger, nowMs);
  const context = new ExchangeContext({
    options: options.exchange,
    scheduler: deps.scheduler,
    pools,
    readers: new BodyReaders(options.exchange.bodyBytesMax, counters, log),
    budget,
    registry,
    counters,
    log,
    nowMs,
  });
  const calls = new CallTable(limits, counters, nowMs);

  function handlerOf(path: string, call: GrpcCall): ExchangeHandler | undefined {
    if (path === processPath) return new Exchange(context, call);
    const method = healthMethodOf(path);
    return method === undefined ? undefined : new HealthCall(call, method, health);
  }

  function onStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    localPort: number,
  ): void {
    const call = new GrpcCall(stream, headers, {
      messageBytesMax: limits.messageBytesMax,
      budget,
      localPort,
      counters,
      onClosed: calls.onClosed,
    });
    const notGrpc = httpProblem(headers);
    if (notGrpc !== 0) {
      counters.add(Counter.calls_turned_away);
      call.turnAway(notGrpc);
      return;
    }
    const path = headers[':path'] ?? '';
    // Health is told also then: a gateway that thinks us dead would fail every request.
    if (budget.isFull && path === processPath) {
      counters.add(Counter.calls_without_memory);
      call.fail(GrpcStatus.resourceExhausted, 'out of memory for calls');
      return;
    }
    if (!calls.add(call)) {
      call.fail(GrpcStatus.resourceExhausted, 'too many calls');
      return;
    }
    const handler = handlerOf(path, call);
    if (handler === undefined) {
      counters.add(Counter.calls_unimplemented);
      call.fail(GrpcStatus.unimplemented, 'unknown method');
      return;
    }
    call.start(handler);
  }

  const transport = new Http2Transport({ tls: options.tls, limits, counters, nowMs, onStream });
  const ports: number[] = [];
  for (const address of options.listen) ports.push(await transport.listen(address));
  const sweeper = setInterval(() => {
    calls.sweep();
    context.sweep();
    transport.sweep();
  }, sweepIntervalMs);
  sweeper.unref();

  async function close(): Promise<void> {
    clearInterval(sweeper);
    await transport.close();
  }

  return {
    ports,
    get openCalls() {
      return calls.count;
    },
    get openSessions() {
      return transport.sessionCount;
    },
    get requestsInFlight() {
      return registry.size;
    },
    get heldBytes() {
      return budget.usedBytes;
    },
    setPools: (routes) => pools.setPools(routes),
    setIdentity: (identity) => transport.setIdentity(identity),
    async drain(noticeMs, graceMs) {
      health.startDraining();
      await calls.emptyOr(noticeMs, false);
      transport.drain();
      deps.scheduler.endWaits();
      await calls.emptyOr(Math.max(0, graceMs - noticeMs), true);
      await close();
    },
    close,
  };
}
