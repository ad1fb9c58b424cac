/**
 * The certificate the picker serves with: given as files, which are followed when they change, or
 * self-signed. Lives in the main thread, which hands each new identity to the workers.
 *
 * Files are compared by content at an interval rather than watched: certificate mounts are replaced
 * by renaming a directory, of which file watchers often hear nothing. Files that do not fit each
 * other (a rotation caught half-way) change nothing and are looked at again.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { TlsIdentity } from '@leadsman/ext-proc/transport/http2-server';

/** A process lives for months at most, and nobody renews what it made for itself. */
const selfSignedForMs = 5 * 365 * 86_400_000;

/** How often files are looked at. Rotations leave days of overlap. */
export const identityPollMs = 10_000;

export interface IdentityFiles {
  certFile: string;
  keyFile: string;
}

export type IdentityErrorCode = 'unreadable' | 'mismatch';

/** A certificate that cannot be served with. */
export class IdentityError extends Error {
  readonly code: IdentityErrorCode;
  constructor(code: IdentityErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'IdentityError';
    this.code = code;
  }
}

/**
 * Reads the files, or makes a certificate when none are named. `unixMs` is the date of today.
 * Throws {@link IdentityError}.
 */
export async function loadIdentity(files: IdentityFiles, unixMs: number): Promise<TlsIdentity> {
  if (files.certFile === '' && files.keyFile === '') return selfSigned(unixMs);
  let cert: string;
  let key: string;
  try {
    [cert, key] = await Promise.all([
      readFile(files.certFile, 'utf8'),
      readFile(files.keyFile, 'utf8'),
    ]);
  } catch (error) {
    throw new IdentityError('unreadable', `cannot read the TLS files: ${error}`, error);
  }
  try {
    createSecureContext({ cert, key });
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return { cert, key };
  } catch (error) {
    throw new IdentityError('mismatch', `certificate and key cannot be used: ${error}`, error);
  }
  throw new IdentityError('mismatch', 'the key is not the key of the certificate');
}

export interface IdentityWatch {
  onChange(identity: TlsIdentity): void;
  /** The files were changed but cannot be used; the old identity stays. */
  onError(error: IdentityError): void;
  pollMs?: number;
}

/** Follows the files; does nothing for a self-signed identity. Returns how to stop. */
export function watchIdentity(
  files: IdentityFiles,
  current: TlsIdentity,
  watch: IdentityWatch,
): () => void {
  if (files.certFile === '') return () => {};
  let known = current;
  let reading = false;
  async function look(): Promise<void> {
    if (reading) return;
    reading = true;
    try {
      const found = await loadIdentity(files, 0);
      if (found.cert === known.cert && found.key === known.key) return;
      known = found;
      watch.onChange(found);
    } catch (error) {
      if (!(error instanceof IdentityError)) throw error;
      watch.onError(error);
    } finally {
      reading = false;
    }
  }
  const timer = setInterval(() => void look(), watch.pollMs ?? identityPollMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** An identity that encrypts and proves nothing. Its library is loaded only where it is needed. */
async function selfSigned(unixMs: number): Promise<TlsIdentity> {
  const { makeCertificate } = await import('@leadsman/service/certificate');
  const { ca, cert, key } = await makeCertificate({
    name: 'leadsman-picker',
    dnsNames: ['leadsman-picker', 'localhost'],
    nowMs: unixMs,
    validMs: selfSignedForMs,
  });
  return { cert: `${cert.trimEnd()}\n${ca}`, key };
}
