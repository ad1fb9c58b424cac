/**
 * The certificate the picker serves with: given as files, which are followed when they change, or
 * self-signed. Lives in the main thread, which hands each new identity to the workers.
 */
import type { TlsIdentity } from '@leadsman/ext-proc/transport/http2-server';
import {
  CertificateError,
  type CertificateLogger,
  RotatingCertificate,
  type TlsMaterial,
} from '@leadsman/service';

/** A process lives for months at most, and nobody renews what it made for itself. */
const selfSignedForMs = 5 * 365 * 86_400_000;

export interface IdentityOptions {
  /** Both empty: self-signed. */
  certFile: string;
  keyFile: string;
  /** Today, ms since 1970. */
  unixMs: number;
  logger?: CertificateLogger;
  lookEveryMs?: number;
}

export interface ServedIdentity {
  /** What the listener begins with. */
  readonly first: TlsIdentity;
  /** Calls `use` for each later one. */
  follow(use: (identity: TlsIdentity) => void): void;
  stop(): Promise<void>;
}

/** Reads the files, or makes a certificate when none are named. Throws {@link CertificateError}. */
export async function openIdentity(options: IdentityOptions): Promise<ServedIdentity> {
  const { certFile, keyFile, unixMs, logger, lookEveryMs } = options;
  if (certFile === '' && keyFile === '') {
    const first = await selfSigned(unixMs);
    return { first, follow: () => undefined, stop: async () => undefined };
  }
  const files = { certFile, keyFile };
  const certificate = new RotatingCertificate({ files, logger, lookEveryMs });
  return {
    first: identityOf(await certificate.read()),
    follow: (use) => certificate.start((material) => use(identityOf(material))),
    stop: () => certificate.stop(),
  };
}

function identityOf({ cert, key }: TlsMaterial): TlsIdentity {
  if (cert !== undefined && key !== undefined) return { cert, key };
  throw new CertificateError('mismatch', 'a certificate and its key go together');
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
