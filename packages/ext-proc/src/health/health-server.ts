/**
 * `grpc.health.v1` on a port of its own, in the main process: probes get an answer even while every
 * worker is busy, and gateways that health-check a separate port (GKE) find it. Plaintext, as
 * probes are; it tells nothing but the state. The transport is that of ext_proc.
 */
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { ByteBudget } from '../byte-budget.ts';
import { Counters } from '../counters.ts';
import { CallTable } from '../transport/call-table.ts';
import { GrpcCall } from '../transport/grpc-call.ts';
import { Http2Transport } from '../transport/http2-server.ts';
import { defaultTransportLimits, sweepIntervalMs } from '../transport/limits.ts';
import { GrpcStatus } from '../transport/stream.ts';
import { HealthCall, healthMethodOf } from './health-call.ts';
import type { HealthState } from './health-state.ts';

/** Watches are streams that live as long as their gateway; a probe is one call. */
const limits = {
  ...defaultTransportLimits,
  connectionsMax: 1_000,
  streamsMax: 1_000,
  streamsPerConnectionMax: 100,
  messageBytesMax: 4_096,
};

export interface HealthServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Rejects when the address cannot be listened on. `port` 0 takes a free one. */
export async function startHealthServer(
  address: { host: string; port: number },
  health: HealthState,
): Promise<HealthServer> {
  const counters = new Counters();
  const nowMs = () => performance.now();
  const budget = new ByteBudget(limits.streamsMax * limits.messageBytesMax);
  const calls = new CallTable(limits, counters, nowMs);
  const { messageBytesMax } = limits;
  const { onClosed } = calls;

  function onStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    localPort: number,
  ): void {
    const call = new GrpcCall(stream, headers, {
      ...{ messageBytesMax, budget, localPort, counters, onClosed },
    });
    if (!calls.add(call)) {
      call.fail(GrpcStatus.resourceExhausted, 'too many calls');
      return;
    }
    const method = healthMethodOf(headers[':path'] ?? '');
    if (method === undefined) call.fail(GrpcStatus.unimplemented, 'unknown method');
    else call.start(new HealthCall(call, method, health));
  }

  const transport = new Http2Transport({ tls: undefined, limits, counters, nowMs, onStream });
  const port = await transport.listen({ ...address, reusePort: false });
  const sweeper = setInterval(() => {
    calls.sweep();
    transport.sweep();
  }, sweepIntervalMs);
  sweeper.unref();
  return {
    port,
    stop() {
      clearInterval(sweeper);
      return transport.close();
    },
  };
}
