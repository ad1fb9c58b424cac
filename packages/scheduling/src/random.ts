/**
 * Random numbers for picks: fast, seedable, one generator per worker. Not for secrets.
 *
 * The generator is sfc32 (Chris Doty-Humphrey, PractRand): 128 bits of state, four additions and
 * two shifts a number. `Math.random` cannot be seeded, so a pick could not be replayed.
 */
import { randomBytes } from 'node:crypto';

/** A number in [0, 1). */
export type Random = () => number;

/** A generator whose sequence depends on `seed` alone. */
export function seededRandom(seed: number): Random {
  let a = 0x9e3779b9 | 0;
  let b = 0x243f6a88 | 0;
  let c = Math.trunc(seed) | 0;
  let counter = 1;
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 0x1_0000_0000;
  };
  // The first numbers of neighbouring seeds resemble each other; the state mixes in a few rounds.
  for (let i = 0; i < 12; i++) next();
  return next;
}

/** A generator with a seed of the operating system's. */
export function systemRandom(): Random {
  return seededRandom(randomBytes(4).readInt32LE(0));
}

/** An integer in [0, bound). */
export function randomBelow(random: Random, bound: number): number {
  return Math.floor(random() * bound);
}
