/**
 * A certificate of the picker's own making, for gateways that insist on TLS but accept any
 * certificate. Made once per process in the main thread and given to all workers, so that every
 * connection sees the same one. It encrypts; it proves nothing.
 *
 * Node signs but writes no certificates, so the few DER structures of RFC 5280 that a leaf needs
 * are written here: P-256, ECDSA with SHA-256, server authentication, two names.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { TlsIdentity } from '../ext-proc/transport/http2-server.ts';

/** A process lives for months at most; clocks of gateways may be off by hours. */
const validForMs = 5 * 365 * 86_400_000;
const clockSlackMs = 86_400_000;

const names = ['leadsman-picker', 'localhost'];

const oid = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

/** `unixMs` is the date of today. */
export function createSelfSigned(unixMs: number): TlsIdentity {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const body = certificateBody(spki, unixMs);
  const algorithm = sequence(objectId(oid.ecdsaWithSha256));
  const signature = sign('sha256', body, { key: privateKey, dsaEncoding: 'der' });
  const certificate = sequence(body, algorithm, bitString(signature));
  return {
    cert: pem(certificate),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

/** What is signed (`TBSCertificate`): version 3, issued by itself to itself. */
function certificateBody(spki: Buffer, unixMs: number): Buffer {
  const name = sequence(
    der(0x31, sequence(objectId(oid.commonName), der(0x0c, Buffer.from(names[0]!)))),
  );
  return sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, serialNumber()),
    sequence(objectId(oid.ecdsaWithSha256)),
    name,
    sequence(time(unixMs - clockSlackMs), time(unixMs + validForMs)),
    name,
    spki,
    der(0xa3, sequence(...extensions())),
  );
}

function extensions(): Buffer[] {
  const digitalSignature = der(0x03, Buffer.from([7, 0x80]));
  const altNames = sequence(...names.map((name) => der(0x82, Buffer.from(name))));
  return [
    sequence(objectId(oid.keyUsage), der(0x01, Buffer.from([0xff])), der(0x04, digitalSignature)),
    sequence(objectId(oid.extendedKeyUsage), der(0x04, sequence(objectId(oid.serverAuth)))),
    sequence(objectId(oid.subjectAltName), der(0x04, altNames)),
  ];
}

/** Positive and without leading zeros, as DER wants integers. */
function serialNumber(): Buffer {
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x3f) | 0x40;
  return serial;
}

/** `GeneralizedTime`, which is right for every year: `20261130154000Z`. */
function time(unixMs: number): Buffer {
  const digits = new Date(unixMs).toISOString().replace(/\.\d+/, '').replace(/[-:T]/g, '');
  return der(0x18, Buffer.from(digits));
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  const { length } = value;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), value]);
  const size = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), value]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, ...parts);
}

function bitString(bits: Buffer): Buffer {
  return der(0x03, Buffer.from([0]), bits);
}

function objectId(text: string): Buffer {
  const [first, second, ...rest] = text.split('.').map(Number);
  const bytes = [first! * 40 + second!];
  for (const part of rest) {
    const digits = [part & 0x7f];
    for (let left = part >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
    bytes.push(...digits);
  }
  return der(0x06, Buffer.from(bytes));
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g)!;
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
