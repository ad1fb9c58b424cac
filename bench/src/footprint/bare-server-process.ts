/**
 * What an agent cannot cost less than: the HTTP server that it is built on, taking the same POSTs
 * and doing nothing with them. System calls are dear on some machines, so the agent's share is
 * read beside this one.
 */
import { agentFramesPath, frameContentType } from '@leadsman/link';
import { createAdmin, createLogger } from '@leadsman/service';
import { Registry } from 'prom-client';

const logger = createLogger({ name: 'bare', level: 'silent' });
const server = createAdmin({ registry: new Registry(), logger, ready: () => undefined });
server.addContentTypeParser(frameContentType, { parseAs: 'buffer' }, (_, body, done) =>
  done(null, body),
);
server.post(agentFramesPath, (_, reply) => reply.code(204).send());
const url = await server.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${JSON.stringify({ msg: 'listening', address: new URL(url).host })}\n`);
