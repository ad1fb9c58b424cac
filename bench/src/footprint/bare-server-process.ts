/**
 * What an agent cannot cost less than: the server that it is built on, taking the same streams and
 * doing nothing with them. System calls are dear on some machines, so the agent's share is
 * read beside this one.
 */
import { serveFrameStreams } from '@leadsman/link';
import { createAdmin, createLogger } from '@leadsman/service';
import { Registry } from 'prom-client';

const logger = createLogger({ name: 'bare', level: 'silent' });
const server = createAdmin({ registry: new Registry(), logger, ready: () => undefined });
serveFrameStreams(server.server, { frameBytesMax: 65_536, take: () => 'accepted' });
const url = await server.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${JSON.stringify({ msg: 'listening', address: new URL(url).host })}\n`);
