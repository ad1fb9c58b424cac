/** What a process uses, from `/proc`: the kernel's own account, threads and kernel time included. */
import { readFile } from 'node:fs/promises';

export interface ProcessUse {
  /** Share of one core, user and kernel time of all threads. */
  cpu_percent: number;
  /** Resident memory at the end of the window. */
  memory_mb: number;
}

/** Kernel ticks are hundredths of a second on every Linux that Node runs on. */
const tickMs = 10;

/** Waits out the warm-up, calls `atStart`, and measures over the window. */
export async function observe(
  pid: number,
  window: { warmUpMs: number; forMs: number },
  atStart: () => Promise<void>,
): Promise<ProcessUse> {
  await pass(window.warmUpMs);
  await atStart();
  const startedAtMs = performance.now();
  const before = await cpuTicks(pid);
  await pass(window.forMs);
  const cpuMs = ((await cpuTicks(pid)) - before) * tickMs;
  const share = cpuMs / (performance.now() - startedAtMs);
  return {
    cpu_percent: Number((share * 100).toFixed(2)),
    memory_mb: await residentMb(pid),
  };
}

async function cpuTicks(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
  // The process's name, in parentheses, may hold blanks; fields are counted behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

export async function residentMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'latin1');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN) / 1_024);
}

export function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
