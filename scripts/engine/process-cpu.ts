/** CPU time of one process, all its threads, by Linux's scheduler: to the nanosecond, not the tick. */
import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds of CPU that the living threads of `pid` have used. */
export function cpuMsOf(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
      nanoseconds += Number(text.split(' ', 1)[0]);
    } catch {
      // It ended since the folder was read.
    }
  }
  return nanoseconds / 1e6;
}
