/** TLS as gateways use it, and as their probes do. */
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import type { TlsIdentity } from '@leadsman/ext-proc/transport/http2-server';
import { openIdentity } from '@leadsman/picker';
import { waitUntil } from '@leadsman/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { destinationIn } from './client.ts';
import { type PickerUnderTest, startPickerUnderTest } from './picker-under-test.ts';

const selfSigned = async () =>
  (await openIdentity({ certFile: '', keyFile: '', unixMs: Date.now() })).first;
let picker: PickerUnderTest;
let identity: TlsIdentity;
beforeAll(async () => {
  identity = await selfSigned();
  picker = await startPickerUnderTest((options) => {
    options.tls = identity;
  });
});
afterAll(() => picker.stop());

async function pickBy(trusted: TlsIdentity): Promise<string | undefined> {
  const client = picker.client({
    credentials: grpc.credentials.createSsl(Buffer.from(trusted.cert)),
  });
  const stream = client.open();
  stream.requestHeaders({}, { requestMode: 'NONE', endOfStream: true });
  const reply = await stream.reply();
  client.close();
  return destinationIn(reply.request_headers?.response?.header_mutation);
}

function handshake(options: { alpn?: string[] }): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = tlsConnect({
      port: picker.port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      ...(options.alpn && { ALPNProtocols: options.alpn }),
    });
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}

test('exchanges run over TLS', async () => {
  expect(await pickBy(identity)).toBe('10.0.0.1:8000');
});

test('a new identity is served to new connections while old ones go on', async () => {
  const old = picker.client({
    credentials: grpc.credentials.createSsl(Buffer.from(identity.cert)),
  });
  const stream = old.open();
  stream.requestHeaders({}, { requestMode: 'NONE', endOfStream: true });
  await stream.reply();
  const next = await selfSigned();
  picker.server.setIdentity(next);
  expect(await pickBy(next)).toBe('10.0.0.1:8000');
  stream.responseHeaders({});
  expect((await stream.reply()).response).toBe('response_headers');
  identity = next;
});

test('a probe that opens TLS without ALPN is closed and counted, nothing more', async () => {
  const socket = await handshake({});
  socket.on('error', () => {});
  socket.resume();
  await waitUntil(() => socket.destroyed || socket.readableEnded, { what: 'the close' });
  await waitUntil(() => picker.counters.get('tls_failures') > 0, { what: 'the count' });
  expect(await pickBy(identity)).toBe('10.0.0.1:8000');
});

test('plaintext on the TLS port is closed', async () => {
  const before = picker.counters.get('tls_failures');
  const client = picker.client();
  const stream = client.open();
  stream.requestHeaders({}, { requestMode: 'NONE', endOfStream: true });
  expect((await stream.status()).code).toBe(grpc.status.UNAVAILABLE);
  await waitUntil(() => picker.counters.get('tls_failures') > before, { what: 'the count' });
});
