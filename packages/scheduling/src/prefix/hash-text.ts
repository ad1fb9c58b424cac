/**
 * 32-bit hashes of short texts and their mixing, alike in every replica and release: replicas
 * agree on rendezvous choices and prefix seeds only as long as these stay as they are.
 */
import { fnvBasis, fnvPrime } from '@leadsman/service/fnv1a';

/** FNV-1a over the UTF-16 units, finished by {@link mix32} as FNV's low bits are poor. */
export function hashText(text: string): number {
  let hash = fnvBasis | 0;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), fnvPrime);
  }
  return mix32(hash);
}

/** A bijection of 32-bit integers in which each input bit flips half of the output bits. */
export function mix32(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
