/**
 * The HTTPS side that the API server calls. It exists from the first certificate on; a renewed
 * one is taken over without a break for open connections.
 */
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Logger } from '@leadsman/service';
import fastify from 'fastify';
import type { Counter } from 'prom-client';
import { type PoolLookup, review } from './admission/admission-review.ts';
import type { ServedCertificate } from './certificate/certificate-source.ts';
import type { SidecarTemplate } from './mutate/sidecar-template.ts';

/** etcd refuses objects above 1.5 MiB, and a review carries the pod once on CREATE. */
const bodyBytesMax = 4 * 1024 * 1024;

export interface WebhookServerOptions {
  readonly host: string;
  readonly port: number;
  readonly template: SidecarTemplate;
  readonly poolPorts: PoolLookup;
  readonly reviews: Counter<'outcome'>;
  readonly logger: Logger;
}

export interface WebhookServer {
  /** Serves with this certificate from now on. Resolves to the port once it listens. */
  use(certificate: ServedCertificate): Promise<number>;
  readonly listening: boolean;
  /** Answers as before, and has callers leave: each answer ends its connection. */
  drain(): void;
  /** Ends connections without a request; those with one after their answer. */
  close(): Promise<void>;
}

export function createWebhookServer(options: WebhookServerOptions): WebhookServer {
  let server: ReturnType<typeof build> | undefined;
  let listening: Promise<number> | undefined;
  let isListening = false;
  const state = { draining: false };
  return {
    use(certificate) {
      if (server === undefined) {
        server = build(options, certificate, state);
        listening = listen(server, options).then((port) => {
          isListening = true;
          return port;
        });
      } else (server.server as unknown as Server).setSecureContext(certificate);
      return listening as Promise<number>;
    },
    get listening() {
      return isListening;
    },
    drain() {
      state.draining = true;
    },
    async close() {
      await server?.close();
    },
  };
}

function build(
  options: WebhookServerOptions,
  certificate: ServedCertificate,
  state: { readonly draining: boolean },
) {
  const server = fastify({
    https: { ...certificate, minVersion: 'TLSv1.2' as const },
    bodyLimit: bodyBytesMax,
    // The API server gives up after at most 5 s.
    requestTimeout: 5_000,
    forceCloseConnections: 'idle',
    logger: false,
  });
  // API servers keep connections, past the Service's change of endpoints.
  server.addHook('onSend', async (_, reply) => {
    if (state.draining) reply.header('connection', 'close');
  });
  server.post('/mutate', (request, reply) => {
    const reviewed = review(request.body, options);
    if (reviewed === undefined) return reply.code(400).send({ error: 'not an AdmissionReview' });
    const { outcome, pod, notes, answer } = reviewed;
    options.reviews.inc({ outcome });
    if (outcome === 'fault') options.logger.error({ pod, notes }, 'pod left as it is');
    else options.logger.debug({ pod, outcome, notes }, 'pod reviewed');
    return reply.send(answer);
  });
  return server;
}

async function listen(
  server: ReturnType<typeof build>,
  { host, port, logger }: WebhookServerOptions,
): Promise<number> {
  await server.listen({ host, port });
  const { port: bound } = server.server.address() as AddressInfo;
  logger.info({ listener: 'webhook', address: `${host}:${bound}` }, 'listening');
  return bound;
}
