import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { makeCertificate, type ServerCertificate } from './make-certificate.ts';
import { CertificateError, RotatingCertificate, readTlsFiles } from './rotating-certificate.ts';

const nowMs = Date.UTC(2026, 0, 1);
const make = () => makeCertificate({ name: 'test', dnsNames: ['a'], nowMs, validMs: 86_400_000 });

let first: ServerCertificate;
let second: ServerCertificate;
let folder: string;
let files: { certFile: string; keyFile: string; caFile: string };
let lines: { level: 'info' | 'error'; text: string; inUse: unknown }[];
let rotating: RotatingCertificate;

beforeAll(async () => {
  [first, second] = await Promise.all([make(), make()]);
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-cert-'));
  const file = (name: string) => join(folder, name);
  files = { certFile: file('tls.crt'), keyFile: file('tls.key'), caFile: '' };
  lines = [];
  const line = (level: 'info' | 'error') => (fields: object, text: string) =>
    lines.push({ level, text, inUse: (fields as { inUse?: boolean }).inUse });
  const logger = { info: line('info'), error: line('error') };
  rotating = new RotatingCertificate({ files, logger, lookEveryMs: 1 });
});

afterEach(async () => {
  await rotating.stop();
  await rm(folder, { recursive: true });
});

async function write(pair: { cert?: string; key?: string }): Promise<void> {
  if (pair.cert !== undefined) await writeFile(files.certFile, pair.cert);
  if (pair.key !== undefined) await writeFile(files.keyFile, pair.key);
}

it('reads the files when asked to, and takes over a renewed pair only when it is whole', async () => {
  await rotating.look();
  expect(rotating.missing()).toMatch(/tls\.crt: ENOENT/);
  await write(first);
  const used: (string | undefined)[] = [];
  rotating.onChange(({ cert }) => used.push(cert));
  await rotating.look();
  expect([rotating.missing(), rotating.endsAtMs()]).toEqual([undefined, nowMs + 86_400_000]);
  await write({ cert: second.cert });
  await rotating.look();
  expect(rotating.current?.cert).toBe(first.cert);
  await write({ key: second.key });
  await rotating.look();
  expect(rotating.current).toEqual({ ca: undefined, cert: second.cert, key: second.key });
  expect(used).toEqual([first.cert, second.cert]);
});

it('logs each broken rotation once, also while a good certificate is in use', async () => {
  await write(first);
  await rotating.look();
  for (const key of [second.key, 'no key']) {
    await write({ key });
    for (let i = 0; i < 3; i++) await rotating.look();
  }
  await write({ key: first.key });
  await rotating.look();
  await write({ key: second.key });
  await rotating.look();
  const broken = { level: 'error', text: 'new certificate cannot be used', inUse: true };
  expect(lines).toEqual([broken, broken, broken]);
  expect(rotating.failures).toBe(7);
  expect(rotating.problem?.code).toBe('mismatch');
});

it('looks again by itself', async () => {
  await write(first);
  const pairs: (string | undefined)[] = [];
  const changed = Promise.withResolvers<void>();
  rotating.start(({ cert }) => {
    pairs.push(cert);
    if (pairs.length === 1) void write(second);
    else changed.resolve();
  });
  await changed.promise;
  expect(pairs).toEqual([first.cert, second.cert]);
});

it('knows files that cannot be used, an authority among them', async () => {
  await expect(readTlsFiles(files)).rejects.toMatchObject({ code: 'unreadable' });
  await write({ cert: first.cert, key: second.key });
  await expect(readTlsFiles(files)).rejects.toMatchObject({ code: 'mismatch' });
  await write({ cert: 'no certificate', key: 'no key' });
  await expect(readTlsFiles(files)).rejects.toBeInstanceOf(CertificateError);
  await expect(readTlsFiles({ certFile: files.certFile })).rejects.toThrow(/go together/);
  await expect(readTlsFiles({ caFile: files.certFile })).rejects.toMatchObject({
    code: 'mismatch',
  });
  await writeFile(files.certFile, first.ca);
  expect(await readTlsFiles({ caFile: files.certFile })).toMatchObject({ ca: first.ca });
});

it('gives what is in use to whoever reads while the files are broken', async () => {
  await expect(rotating.read()).rejects.toMatchObject({ code: 'unreadable' });
  await write(first);
  await rotating.read();
  await write({ cert: '' });
  expect((await rotating.read()).cert).toBe(first.cert);
});
