import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TlsIdentity } from '@leadsman/ext-proc/transport/http2-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IdentityError, type IdentityFiles, loadIdentity, watchIdentity } from './identity.ts';

const today = Date.UTC(2026, 10, 30);
let folder: string;
let files: IdentityFiles;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-tls-'));
  files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') };
});
afterAll(() => rm(folder, { recursive: true }));

const selfSigned = () => loadIdentity({ certFile: '', keyFile: '' }, today);
async function store(identity: TlsIdentity): Promise<void> {
  await writeFile(files.certFile, identity.cert);
  await writeFile(files.keyFile, identity.key);
}

test('a self-signed certificate is valid around today, for years', async () => {
  const { cert } = await selfSigned();
  const certificate = new X509Certificate(cert);
  expect(Date.parse(certificate.validFrom)).toBeLessThan(today);
  expect(Date.parse(certificate.validTo)).toBeGreaterThan(today + 4 * 365 * 86_400_000);
  expect(certificate.checkHost('localhost')).toBe('localhost');
});

test('files that cannot be read or do not fit each other are refused', async () => {
  await expect(loadIdentity(files, today)).rejects.toMatchObject({ code: 'unreadable' });
  const [one, other] = await Promise.all([selfSigned(), selfSigned()]);
  await store({ cert: one.cert, key: other.key });
  await expect(loadIdentity(files, today)).rejects.toMatchObject({ code: 'mismatch' });
  await store({ cert: 'no certificate', key: 'no key' });
  await expect(loadIdentity(files, today)).rejects.toBeInstanceOf(IdentityError);
});

test('changed files are followed, and a pair caught half-way is not', async () => {
  const [first, second] = await Promise.all([selfSigned(), selfSigned()]);
  await store(first);
  const current = await loadIdentity(files, today);
  expect(current).toEqual(first);
  let stop = () => {};
  const errors: string[] = [];
  const changed = new Promise<TlsIdentity>((resolve) => {
    stop = watchIdentity(files, current, {
      pollMs: 5,
      onChange: resolve,
      onError: (error) => {
        errors.push(error.code);
        // The rotation goes on once its half-way state has been seen.
        if (errors.length === 1) void writeFile(files.keyFile, second.key);
      },
    });
  });
  await writeFile(files.certFile, second.cert);
  expect(await changed).toEqual(second);
  expect(errors.length).toBeGreaterThan(0);
  stop();
});
