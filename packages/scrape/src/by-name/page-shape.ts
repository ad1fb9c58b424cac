/**
 * Which series of an engine's profile a page has, whatever their numbers: by sample name how many,
 * a sum over their label lists, and what was lost of them. Two pages of one shape have the same
 * series (but for collisions of 32-bit sums), so that a number read from either is made of the same
 * parts.
 *
 * Cost: each distinct label list is hashed once (a page of eight ranks has some twenty of 60 bytes),
 * then one addition per sample. The arrays are reused from page to page.
 *
 * Of a name whose newest sample only counts (adapters), the labels are what is read, and change from
 * page to page: only that it is there is compared.
 */
import type { FamilyNames } from '../exposition/family-names.ts';
import type { Samples } from '../exposition/samples.ts';

/** The hash of a sample without labels; any number will do. */
const hashOfNone = 0x9e3779b9 | 0;

export class PageShape {
  #counts = new Int32Array(0);
  #sums = new Int32Array(0);
  #hashes = new Int32Array(64);

  /** Takes the shape of the page that `samples` was parsed from by `names`. */
  read(samples: Samples, names: FamilyNames): void {
    const size = names.names.length;
    if (this.#counts.length !== size) {
      this.#counts = new Int32Array(size);
      this.#sums = new Int32Array(size);
    }
    this.#counts.fill(0);
    for (let name = 0; name < size; name++) this.#sums[name] = samples.lost[name] as number;
    this.#hashSets(samples);
    for (let i = 0; i < samples.count; i++) {
      const name = samples.name[i] as number;
      this.#counts[name]!++;
      if (names.keepsNewest(name)) continue;
      const set = samples.set[i] as number;
      const hash = set < 0 ? hashOfNone : (this.#hashes[set] as number);
      // A sum, so that the order of a family's series does not matter.
      this.#sums[name] = (this.#sums[name]! + hash) | 0;
    }
  }

  equals(other: PageShape): boolean {
    if (this.#counts.length !== other.#counts.length) return false;
    for (let name = 0; name < this.#counts.length; name++) {
      if (this.#counts[name] !== other.#counts[name]) return false;
      if (this.#sums[name] !== other.#sums[name]) return false;
    }
    return true;
  }

  /** Index of the first name of which `other` has series and this page has none; -1 for none. */
  missingOf(other: PageShape): number {
    for (let name = 0; name < other.#counts.length; name++) {
      if (other.#counts[name] !== 0 && (this.#counts[name] ?? 0) === 0) return name;
    }
    return -1;
  }

  /** FNV-1a, then mixed, as sums of like hashes would let differences cancel each other out. */
  #hashSets({ bytes, setCount, setFrom, setTo }: Samples): void {
    if (this.#hashes.length < setCount) this.#hashes = new Int32Array(2 * setCount);
    for (let set = 0; set < setCount; set++) {
      let hash = 0x811c9dc5 | 0;
      const to = setTo[set] as number;
      for (let i = setFrom[set] as number; i < to; i++) {
        hash = Math.imul(hash ^ (bytes[i] as number), 0x01000193);
      }
      hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
      hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
      this.#hashes[set] = hash ^ (hash >>> 16);
    }
  }
}
