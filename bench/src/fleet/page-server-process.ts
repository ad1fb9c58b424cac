/**
 * Entry of the process that serves engines' pages to the polling baseline: the same 45 KB page on
 * one port, from memory. A real engine takes longer to answer; that would only make polling worse.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startEngineSimulator } from '@leadsman/testing';

const engine = await startEngineSimulator({});
const page = Buffer.from(engine.page());
await engine.stop();
const server = createServer((_, reply) => {
  reply.writeHead(200, {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    'content-length': page.length,
  });
  reply.end(page);
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port, bytes: page.length });
});
process.on('disconnect', () => process.exit(0));
