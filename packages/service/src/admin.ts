/**
 * The HTTP side of a process for people, probes and Prometheus: `/metrics`, `/healthz`,
 * `/readyz`. A process adds its own routes before it listens.
 *
 * `/healthz` answers as long as the event loop turns: restarting a process that waits for a
 * broker helps nobody. `/readyz` states the reason when it is not ready. Each answer says in a
 * header which version gave it.
 */
import fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from './log.ts';
import { buildVersion, versionHeader } from './version.ts';

/** What of a prom-client registry is used. */
export interface MetricsPage {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export interface AdminOptions {
  registry: MetricsPage;
  logger: Logger;
  /** `undefined` when ready, else one line that says what is missing. */
  ready: () => string | undefined;
  /** Largest request body of the process's own routes, bytes. */
  bodyBytesMax?: number;
}

/** Builds the server; the caller listens and closes it. */
export function createAdmin(options: AdminOptions): FastifyInstance {
  const server = fastify({
    bodyLimit: options.bodyBytesMax ?? 65_536,
    // Without these a client that stops sending holds its socket for ever.
    requestTimeout: 10_000,
    connectionTimeout: 30_000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: true,
    // Probes and scrapes come several times a second: their lines would bury all others.
    logger: false,
  });
  server.addHook('onRequest', (_, reply, done) => {
    reply.header(versionHeader, buildVersion);
    done();
  });
  server.setErrorHandler((error: Error & { statusCode?: number; code?: string }, _, reply) => {
    const status = error.statusCode ?? 500;
    if (status >= 500) options.logger.error({ err: error }, 'admin request failed');
    return reply
      .code(status)
      .send({ error: { code: error.code ?? 'internal', message: error.message } });
  });
  server.get('/metrics', async (_, reply) => {
    const text = await options.registry.metrics();
    return reply.header('content-type', options.registry.contentType).send(text);
  });
  server.get('/healthz', (_, reply) => reply.type('text/plain').send('ok\n'));
  server.get('/readyz', (_, reply) => {
    const missing = options.ready();
    if (missing === undefined) return reply.type('text/plain').send('ok\n');
    return reply.code(503).type('text/plain').send(`${missing}\n`);
  });
  return server;
}
