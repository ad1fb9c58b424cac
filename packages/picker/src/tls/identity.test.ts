import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openIdentity } from './identity.ts';

const unixMs = Date.UTC(2026, 10, 30);
let folder: string;
let files: { certFile: string; keyFile: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-tls-'));
  files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
});
afterAll(() => rm(folder, { recursive: true }));

const selfSigned = async () => (await openIdentity({ certFile: '', keyFile: '', unixMs })).first;

test('a self-signed certificate is valid around today, for years', async () => {
  const { cert } = await selfSigned();
  const certificate = new X509Certificate(cert);
  expect(Date.parse(certificate.validFrom)).toBeLessThan(unixMs);
  expect(Date.parse(certificate.validTo)).toBeGreaterThan(unixMs + 4 * 365 * 86_400_000);
  expect(certificate.checkHost('localhost')).toBe('localhost');
});

test('files are followed; ones that cannot be used are refused at the start', async () => {
  const open = () => openIdentity({ ...files, unixMs, lookEveryMs: 5 });
  await expect(open()).rejects.toMatchObject({ code: 'unreadable' });
  await expect(openIdentity({ ...files, keyFile: '', unixMs })).rejects.toThrow();
  const [first, second] = await Promise.all([selfSigned(), selfSigned()]);
  await writeFile(files.certFile, first.cert);
  await writeFile(files.keyFile, first.key);
  const identity = await open();
  expect(identity.first).toEqual(first);
  const changed = new Promise((resolve) => identity.follow(resolve));
  await writeFile(files.certFile, second.cert);
  await writeFile(files.keyFile, second.key);
  expect(await changed).toEqual(second);
  await identity.stop();
});
