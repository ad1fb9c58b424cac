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
  /**
   * Whether a caller with this bearer token (`''`: none) may have the routes below `/v1/`. Metrics
   * and probes stay open. Left out: everybody may. It must not reject.
   */
  authorize?: ((token: string) => Promise<boolean>) | undefined;
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
  const { authorize } = options;
  if (authorize !== undefined) {
    server.addHook('onRequest', async (request, reply) => {
      // By the route that was found, not by the text of the URL, which has many spellings.
      if (!request.routeOptions.url?.startsWith('/v1/')) return;
      const token = bearerOf(request.headers.authorization);
      if (await authorize(token)) return;
      const status = token === '' ? 401 : 403;
      const message = token === '' ? 'a bearer token is needed here' : 'this token is not believed';
      await reply
        .code(status)
        .header('www-authenticate', 'Bearer')
        .send({ error: { code: status === 401 ? 'unauthorized' : 'forbidden', message } });
    });
  }
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

/** The token of `Authorization: Bearer TOKEN`; '' without one. */
function bearerOf(header: string | undefined): string {
  return /^Bearer +(\S+)$/i.exec(header ?? '')?.[1] ?? '';
}
