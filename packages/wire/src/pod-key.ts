/**
 * A pod's identity on the wire: 16 bytes made from its UID, never from its address (addresses are
 * reused by the next pod within seconds).
 *
 * A Kubernetes UID is a UUID, so its 16 bytes are taken as they are; a mirror pod's UID is 32 hex
 * digits without dashes and taken likewise. Any other text (static files, tests) is hashed by two
 * independent 64-bit FNV-1a runs; 128 bits make a collision among 10,000 names unthinkable.
 */

export const podKeyBytes = 16;

const uuidPattern = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const utf8 = new TextEncoder();

/** The key of a pod UID. Any non-empty text is accepted; equal texts give equal keys. */
export function podKeyFromUid(uid: string): Uint8Array {
  const key = new Uint8Array(podKeyBytes);
  if (uuidPattern.test(uid)) {
    const hex = uid.replaceAll('-', '');
    for (let i = 0; i < podKeyBytes; i++) {
      key[i] = Number.parseInt(hex.slice(i * 2, i * 2 + 2), 16);
    }
    return key;
  }
  const bytes = utf8.encode(uid);
  const view = new DataView(key.buffer);
  view.setBigUint64(0, fnv1a64(bytes, 0xcbf29ce484222325n));
  view.setBigUint64(8, fnv1a64(bytes, 0x9ae16a3b2f90404fn));
  return key;
}

/** The key as UUID text, for maps, logs and JSON. `offset` is where its 16 bytes begin. */
export function podKeyText(bytes: Uint8Array, offset = 0): string {
  let text = '';
  for (let i = 0; i < podKeyBytes; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) text += '-';
    text += hexOfByte[bytes[offset + i] ?? 0];
  }
  return text;
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function fnv1a64(bytes: Uint8Array, basis: bigint): bigint {
  let hash = basis;
  for (const byte of bytes) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash;
}
