/**
 * The lock of a slot: a sequence word, odd while the one writer is inside. Readers never wait for
 * it; they copy, then check that the word did not move, else copy again.
 *
 * ```
 * writer                              reader
 *   W1  Atomics.add(seq, 1)  → odd      R1  Atomics.load(seq)      even, else again
 *   Wd  plain stores of the body        Rd  plain loads of the body
 *   W2  Atomics.add(seq, 1)  → even     R2  Atomics.add(seq, 0)    equal to R1, else again
 * ```
 *
 * **Why R2 is an add of zero.** A second `Atomics.load` would not do. Atomic accesses are
 * sequentially consistent among each other, but nothing orders an earlier plain load before a
 * later atomic load: on ARM64 `ldar` holds back what follows it, not what precedes it. Rd could
 * see the stores of a write whose W1 the check does not see. Likewise W1: were it an
 * `Atomics.store` (`stlr`), the plain stores after it could become visible before it.
 *
 * **Why this is right**, from JavaScript's memory model alone and hence on every machine V8
 * supports. Let R1 have read the even value s, stored by the W2 of write s.
 * 1. R1 reads from that W2 (or from an R2 of some reader, which itself read from it), both are
 *    sequentially consistent accesses of the same word, so W2 synchronizes with R1, and all of
 *    write s happens before Rd. Rd cannot return anything older.
 * 2. All accesses of the word lie in one total order, and W1 and R2 are read-modify-writes, so
 *    each reads what its predecessor in that order left. If R2 precedes the W1 of a later write
 *    t, then R2 synchronizes with that W1 (through the R2 of other readers, where those lie
 *    between), so Rd happens before Wd of t, and a load never returns a store that it happens
 *    before. If R2 follows that W1, it reads a value other than s, and the copy is thrown away.
 *    (The value s returns after 2^31 writes of one slot, three years at 20 a second; to go
 *    unnoticed, all of them would have to fall between R1 and R2.)
 *
 * So a copy that passes is exactly write s. A copy that fails may hold any mixture, which does no
 * harm: races between plain accesses are defined in JavaScript, and nobody looks at it.
 *
 * **Cost.** On x86-64 an add is a `lock xadd`, on ARM64 an `ldaddal` or an exclusive pair; it takes
 * the word's cache line for itself. V8 calls a builtin for every operation of Atomics, about 25 ns
 * each; paid twice per write, and twice per slot that changed since the reader's last look. See
 * docs/adr/0003-seqlock.md.
 */

/** Enters the slot. Only the one writer may call this, and only while it is not inside. */
export function beginWrite(sequences: Int32Array, slot: number): void {
  Atomics.add(sequences, slot, 1);
}

/** Leaves the slot: from here on readers may take what was stored. */
export function endWrite(sequences: Int32Array, slot: number): void {
  Atomics.add(sequences, slot, 1);
}

/** The slot's sequence; odd while it is written. */
export function beginRead(sequences: Int32Array, slot: number): number {
  return Atomics.load(sequences, slot);
}

/** Whether what was copied since {@link beginRead} returned `sequence` is one whole write. */
export function endRead(sequences: Int32Array, slot: number, sequence: number): boolean {
  return Atomics.add(sequences, slot, 0) === sequence;
}

/** Whether a writer is inside, or died there. */
export function isBeingWritten(sequence: number): boolean {
  return (sequence & 1) !== 0;
}

/**
 * Copies tried before a reader goes on without this slot. A write takes about 0.1 µs, so only a
 * writer that was suspended or died inside needs more; the slot's last good copy stays in use.
 */
export const readAttemptsMax = 32;
