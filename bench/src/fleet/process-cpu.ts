/** CPU time and memory of another process of this machine, from /proc; NaN where there is none. */
import { readFile } from 'node:fs/promises';

/** Clock ticks per second in /proc: fixed by Linux's ABI. */
const ticksPerS = 100;

/** User and system time of all threads since the start, µs. */
export async function cpuUsOf(pid: number): Promise<number> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may hold blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1e6) / ticksPerS;
  } catch {
    return Number.NaN;
  }
}

export async function rssBytesOf(pid: number): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1_024;
  } catch {
    return Number.NaN;
  }
}

/** Resident memory in which each page counts by the share of one of those that map it. */
export async function pssBytesOf(pid: number): Promise<number> {
  try {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1');
    return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) * 1_024;
  } catch {
    return Number.NaN;
  }
}
