/**
 * `grpc.health.v1` on a port of its own, in the main thread: probes get an answer even while every
 * worker is busy, and gateways that health-check a separate port (GKE) find it. Plaintext, as
 * probes are; it tells nothing but the state.
 */
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { type HealthState, healthServices, ServingStatus } from './health-state.ts';

interface Request {
  service: string;
}
interface Response {
  status: ServingStatus;
}
interface ListResponse {
  statuses: Record<string, Response>;
}

/** Watches at once; each is a stream that lives as long as its gateway. */
const watchesMax = 1_000;

export interface HealthServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Rejects when the address cannot be listened on. `port` 0 takes a free one. */
export async function startHealthServer(
  address: { host: string; port: number },
  health: HealthState,
): Promise<HealthServer> {
  const server = new grpc.Server();
  server.addService(healthService(), implementation(health));
  const port = await new Promise<number>((resolve, reject) => {
    const host = address.host.includes(':') ? `[${address.host}]` : address.host;
    server.bindAsync(
      `${host}:${address.port}`,
      grpc.ServerCredentials.createInsecure(),
      (error, bound) => (error === null ? resolve(bound) : reject(error)),
    );
  });
  return {
    port,
    async stop() {
      server.forceShutdown();
    },
  };
}

function healthService(): grpc.ServiceDefinition {
  const definition = loadSync(fileURLToPath(new URL('../../proto/health.proto', import.meta.url)), {
    keepCase: true,
    enums: Number,
    defaults: true,
  });
  return definition['grpc.health.v1.Health'] as grpc.ServiceDefinition;
}

function implementation(health: HealthState): grpc.UntypedServiceImplementation {
  let watches = 0;
  return {
    Check(
      call: grpc.ServerUnaryCall<Request, Response>,
      callback: grpc.sendUnaryData<Response>,
    ): void {
      const status = health.status(call.request.service);
      if (status === ServingStatus.serviceUnknown) {
        callback({ code: grpc.status.NOT_FOUND, details: 'unknown service' });
      } else {
        callback(null, { status });
      }
    },

    List(_: unknown, callback: grpc.sendUnaryData<ListResponse>): void {
      const entries = healthServices.map((name) => [name, { status: health.status(name) }]);
      callback(null, { statuses: Object.fromEntries(entries) as Record<string, Response> });
    },

    Watch(call: grpc.ServerWritableStream<Request, Response>): void {
      if (watches >= watchesMax) {
        call.emit('error', { code: grpc.status.RESOURCE_EXHAUSTED, details: 'too many watches' });
        return;
      }
      watches++;
      let sent: ServingStatus | -1 = -1;
      const tell = (): void => {
        const status = health.status(call.request.service);
        if (status === sent) return;
        sent = status;
        call.write({ status });
      };
      const stop = health.watch(tell);
      call.once('close', () => {
        watches--;
        stop();
      });
      tell();
    },
  };
}
