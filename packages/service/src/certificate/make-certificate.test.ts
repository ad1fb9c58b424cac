import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { expect, it } from 'vitest';
import { makeCertificate, validForMs } from './make-certificate.ts';

const nowMs = Date.now();
const made = await makeCertificate({
  name: 'leadsman-test',
  dnsNames: ['one.test', 'two.test.svc'],
  nowMs,
  validMs: 3_600_000,
});

it('makes a leaf that its authority signed, for the names it was asked for', () => {
  const leaf = new X509Certificate(made.cert);
  expect(leaf.verify(new X509Certificate(made.ca).publicKey)).toBe(true);
  expect(leaf.checkPrivateKey(createPrivateKey(made.key))).toBe(true);
  expect(leaf.checkHost('two.test.svc')).toBe('two.test.svc');
  expect(leaf.checkHost('three.test')).toBeUndefined();
});

it('tells how long a certificate is good for, and what is none', () => {
  expect(validForMs(made.cert, nowMs)).toBeGreaterThan(3_590_000);
  expect(validForMs('nonsense', nowMs)).toBeUndefined();
});

it('serves TLS to a client that trusts the authority', async () => {
  const server = createServer({ cert: made.cert, key: made.key }, (socket) => socket.end('hi'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: '127.0.0.1', ca: made.ca, servername: 'one.test' });
  const [data] = (await once(client, 'data')) as [Buffer];
  expect(data.toString()).toBe('hi');
  client.destroy();
  server.close();
});
