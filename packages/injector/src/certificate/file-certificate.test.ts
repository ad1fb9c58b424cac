import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '@leadsman/service/certificate';
import { waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ServedCertificate } from './certificate-source.ts';
import { FileCertificate } from './file-certificate.ts';

let folder: string;
let source: FileCertificate;
let served: ServedCertificate[];
const nowMs = Date.UTC(2026, 0, 1);
const make = () =>
  makeCertificate({ name: 'test', dnsNames: ['a.b.svc'], nowMs, validMs: 86_400_000 });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-cert-'));
  served = [];
  source = new FileCertificate({
    certFile: join(folder, 'tls.crt'),
    keyFile: join(folder, 'tls.key'),
    lookMs: 10,
  });
});

afterEach(async () => {
  await source.stop();
  await rm(folder, { recursive: true });
});

const write = async (pair: { cert?: string; key?: string }) => {
  if (pair.cert !== undefined) await writeFile(join(folder, 'tls.crt'), pair.cert);
  if (pair.key !== undefined) await writeFile(join(folder, 'tls.key'), pair.key);
};

it('waits for the files, serves them, and takes over a renewed pair only when it is whole', async () => {
  source.start((certificate) => served.push(certificate));
  await waitUntil(() => /tls\.crt/.test(source.missing() ?? ''), { what: 'the missing file' });
  const first = await make();
  await write(first);
  await waitUntil(() => served.length === 1, { what: 'the first certificate' });
  expect(source.missing()).toBeUndefined();
  expect(source.endsAtMs()).toBe(nowMs + 86_400_000);

  const second = await make();
  await write({ cert: second.cert });
  // Several looks at a pair that does not belong together.
  let looks = 0;
  await waitUntil(() => looks++ > 3, { what: 'some looks', intervalMs: 10 });
  expect(served).toHaveLength(1);
  await write({ key: second.key });
  await waitUntil(() => served.length === 2, { what: 'the second certificate' });
  expect(served[1]).toEqual({ cert: second.cert, key: second.key });
});
