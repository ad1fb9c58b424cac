/**
 * A certificate authority and a certificate of a server or client signed by it, made in one go. The authority's
 * key is thrown away: a renewal makes a new authority, and nothing lies around that could sign.
 */
// x509's dependency injection needs this before it is loaded.
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

export interface ServerCertificate {
  /** PEM of the authority. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
/** Clocks of the two ends may differ; a certificate from the future is refused. */
const clockSkewMs = 5 * 60_000;

/** Makes both, valid from a little before `nowMs` for `validMs`. */
export async function makeCertificate(options: {
  /** Common name of the server; its authority is named after it. */
  name: string;
  dnsNames: readonly string[];
  /** Wall clock, ms since 1970. */
  nowMs: number;
  validMs: number;
}): Promise<ServerCertificate> {
  const notBefore = new Date(options.nowMs - clockSkewMs);
  const notAfter = new Date(options.nowMs + options.validMs);
  const usages: KeyUsage[] = ['sign', 'verify'];
  const caKeys = await webcrypto.subtle.generateKey(algorithm, true, usages);
  const ca = await X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${options.name}-ca`,
      keys: caKeys,
      notBefore,
      notAfter,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(caKeys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  const keys = await webcrypto.subtle.generateKey(algorithm, true, usages);
  const cert = await X509CertificateGenerator.create(
    {
      subject: `CN=${options.name}`,
      issuer: ca.subject,
      publicKey: keys.publicKey,
      signingKey: caKeys.privateKey,
      notBefore,
      notAfter,
      signingAlgorithm: algorithm,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
        new SubjectAlternativeNameExtension(
          options.dnsNames.map((value) => ({ type: 'dns' as const, value })),
        ),
        await AuthorityKeyIdentifierExtension.create(caKeys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return {
    ca: `${ca.toString('pem')}\n`,
    cert: `${cert.toString('pem')}\n`,
    key: `${PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n`,
  };
}

type KeyUsage = 'sign' | 'verify';

/** Milliseconds until a certificate ends, negative when it has; undefined: it is not one. */
export function validForMs(pem: string, nowMs: number): number | undefined {
  try {
    return new X509Certificate(pem).notAfter.getTime() - nowMs;
  } catch {
    return undefined;
  }
}
