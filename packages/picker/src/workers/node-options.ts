/**
 * Options of Node for the processes of a picker: how large the heap of each may grow within the
 * container's memory limit.
 *
 * A heap that reaches its own limit ends its process alone; one that makes the container reach its
 * limit may have the kernel end all of it. Bodies and connections lie outside of heaps, and the
 * main process and the shared tables need room as well: all heaps together get half.
 */

/** Without a limit, or a larger one: a worker with 10,000 endpoints and 65,536 calls fits. */
const heapMbMost = 1_024;
/** Below this a process cannot work, whatever the limit. */
const heapMbLeast = 64;
/** A young generation of 3 × 4 MB instead of 3 × 16: its pages stay resident once used. */
const semiSpaceMb = 4;

/** `limitBytes`: of the container; 0 or beyond the machine's memory: none. */
export function nodeOptionsFor(
  limitBytes: number,
  workers: number,
): { worker: readonly string[]; collector: readonly string[] } {
  // Workers share three eighths, the collector has an eighth.
  const share = (part: number) => Math.floor((limitBytes / 2 ** 20) * part);
  return {
    worker: options(limitBytes > 0 ? share(3 / 8 / workers) : heapMbMost),
    collector: options(limitBytes > 0 ? share(1 / 8) : heapMbMost),
  };
}

function options(heapMb: number): readonly string[] {
  const bounded = Math.min(heapMbMost, Math.max(heapMbLeast, heapMb));
  return [`--max-old-space-size=${bounded}`, `--max-semi-space-size=${semiSpaceMb}`];
}
