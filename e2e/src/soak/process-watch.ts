/** Reads what the kernel says of a set of processes, once a second. */
import { readdirSync, readFileSync } from 'node:fs';
import type { ProcessSample } from './growth.ts';

const sampleEveryMs = 1_000;

export class ProcessWatch {
  readonly samples = new Map<string, ProcessSample[]>();
  readonly #pids: ReadonlyMap<string, number>;
  readonly #timer: NodeJS.Timeout;

  constructor(pids: ReadonlyMap<string, number>) {
    this.#pids = pids;
    for (const name of pids.keys()) this.samples.set(name, []);
    this.#timer = setInterval(() => this.#look(), sampleEveryMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const [name, pid] of this.#pids) this.samples.get(name)!.push(sampleOf(pid));
  }
}

/** Throws when the process is gone: in a soak, none of those watched may end. */
export function sampleOf(pid: number): ProcessSample {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const kilobytes = Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]);
  const handles = readdirSync(`/proc/${pid}/fd`).length;
  return { atMs: performance.now(), bytes: kilobytes * 1_024, handles };
}
