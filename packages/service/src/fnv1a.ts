/**
 * The two numbers of the 32-bit FNV-1a hash (Fowler, Noll, Vo), for all that hash texts for tables of
 * their own: start with the basis; for each byte, `hash = Math.imul(hash ^ byte, prime)`. Each hot
 * loop is written out where it runs.
 */
export const fnvBasis = 0x811c9dc5;
export const fnvPrime = 0x01000193;
