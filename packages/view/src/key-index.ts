/**
 * A hash table from (16-byte key, port) to a small integer, on plain Int32Arrays: no allocation
 * per lookup, no text made of keys. Open addressing with linear probing; deletion moves the rest
 * of the run back, so there are no tombstones and lookups stay short under churn.
 *
 * Cost of a lookup: one hash of five words, then on average 1.5 probes at a fill of at most ½.
 * Memory: 24 bytes per cell, two to four cells per entry.
 */
const cellWords = 6;
const valueWord = 5;
const cellsMin = 64;

export class KeyIndex {
  /** Cells of k0 k1 k2 k3 port value+1; value+1 = 0 marks a free cell. */
  #cells = new Int32Array(cellsMin * cellWords);
  #mask = cellsMin - 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The value of the key at `words[at…at+3]` with `port`; -1 when absent. */
  get(words: Int32Array, at: number, port: number): number {
    return this.#cells[this.#find(words, at, port) * cellWords + valueWord]! - 1;
  }

  /** Adds or replaces; `value` is 0 or more. */
  set(words: Int32Array, at: number, port: number, value: number): void {
    let cell = this.#find(words, at, port);
    if (this.#cells[cell * cellWords + valueWord] === 0) {
      if ((this.#size + 1) * 2 > this.#mask + 1) {
        this.#grow();
        cell = this.#find(words, at, port);
      }
      this.#size++;
      const to = cell * cellWords;
      for (let i = 0; i < 4; i++) this.#cells[to + i] = words[at + i]!;
      this.#cells[to + 4] = port;
    }
    this.#cells[cell * cellWords + valueWord] = value + 1;
  }

  /** Removes the key; absent keys are no error. */
  delete(words: Int32Array, at: number, port: number): void {
    let free = this.#find(words, at, port);
    const cells = this.#cells;
    if (cells[free * cellWords + valueWord] === 0) return;
    this.#size--;
    let probe = free;
    for (;;) {
      probe = (probe + 1) & this.#mask;
      const from = probe * cellWords;
      if (cells[from + valueWord] === 0) break;
      const home = hash(cells, from, cells[from + 4]!) & this.#mask;
      // An entry may move back only as far as its own home cell.
      if (((probe - home) & this.#mask) < ((probe - free) & this.#mask)) continue;
      cells.copyWithin(free * cellWords, from, from + cellWords);
      free = probe;
    }
    cells[free * cellWords + valueWord] = 0;
  }

  #find(words: Int32Array, at: number, port: number): number {
    const cells = this.#cells;
    let cell = hash(words, at, port) & this.#mask;
    for (;;) {
      const from = cell * cellWords;
      if (cells[from + valueWord] === 0) return cell;
      if (
        cells[from] === words[at] &&
        cells[from + 1] === words[at + 1] &&
        cells[from + 2] === words[at + 2] &&
        cells[from + 3] === words[at + 3] &&
        cells[from + 4] === port
      ) {
        return cell;
      }
      cell = (cell + 1) & this.#mask;
    }
  }

  #grow(): void {
    const old = this.#cells;
    this.#mask = (this.#mask + 1) * 2 - 1;
    this.#cells = new Int32Array((this.#mask + 1) * cellWords);
    for (let from = 0; from < old.length; from += cellWords) {
      if (old[from + valueWord] === 0) continue;
      const to = this.#find(old, from, old[from + 4]!) * cellWords;
      for (let i = 0; i < cellWords; i++) this.#cells[to + i] = old[from + i]!;
    }
  }
}

/** Multiply-and-shift over five words; the multipliers are odd and have no pattern. */
function hash(words: Int32Array, at: number, port: number): number {
  let h = Math.imul(words[at]! ^ port, 0x9e3779b1);
  h = Math.imul((h ^ (h >>> 15)) + words[at + 1]!, 0x85ebca77);
  h = Math.imul((h ^ (h >>> 13)) + words[at + 2]!, 0xc2b2ae3d);
  h = Math.imul((h ^ (h >>> 16)) + words[at + 3]!, 0x27d4eb2f);
  return (h ^ (h >>> 15)) >>> 0;
}

/**
 * Parses a pod key's text (a UUID) into `words[at…at+3]` as it lies in a report. `false` when it
 * is no UUID.
 */
export function parsePodKey(text: string, words: Int32Array, at: number): boolean {
  if (text.length !== 36) return false;
  let digits = 0;
  let byte = 0;
  let word = 0;
  for (let i = 0; i < 36; i++) {
    const digit = hexDigit(text.charCodeAt(i));
    if (digit < 0) {
      if (i === 8 || i === 13 || i === 18 || i === 23) continue;
      return false;
    }
    byte = (byte << 4) | digit;
    digits++;
    if ((digits & 1) !== 0) continue;
    // Little-endian: the first byte of a word is its lowest.
    word |= (byte & 0xff) << ((((digits >> 1) - 1) % 4) << 3);
    byte = 0;
    if (digits % 8 !== 0) continue;
    words[at + digits / 8 - 1] = word;
    word = 0;
  }
  return digits === 32;
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 0x20;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}
