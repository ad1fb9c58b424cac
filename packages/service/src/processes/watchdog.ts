/**
 * Finds processes that hang: they keep their listening sockets, and the kernel goes on giving them
 * connections, so they must be found fast; but one that a busy machine merely keeps from running
 * must not be killed for it.
 *
 * Silence alone does not tell these two apart, the kernel's account does (`/proc`). A silent
 * process is charged with the time in which it could have beaten and did not:
 *
 * ```
 * stopped (T)        hangs, at once
 * running (R)        CPU time of its main thread since the last look: an endless loop
 * sleeping (S)       the time since the last look: it waits for something inside of a turn
 * else (D, unknown)  nothing
 * ```
 *
 * It hangs when charged with {@link chargeMaxMs}, or silent for {@link silentMaxMs} whatever the
 * kernel says. Until its first beat a process is starting, which is work in one turn: then it hangs
 * when it is stopped, or after {@link startMaxMs}. All times are counted in looks, so a parent that stood still itself accuses nobody.
 */
import { readFileSync } from 'node:fs';

/** Distance of two looks, ms. */
export const lookIntervalMs = 50;

/** Looks without a beat before the kernel is asked: beats are late by that much at any time. */
const patienceLooks = 2;
/** With patience and a look's distance within a second; a large body takes a tenth of it. */
const chargeMaxMs = 700;
const silentMaxMs = 10_000;
const startMaxMs = 30_000;

/** What the kernel says of a process. */
export interface ProcessState {
  /** As in `/proc/PID/stat`: R, S, T, … */
  state: string;
  /** CPU time of its main thread, ms. */
  cpuMs: number;
}

interface Watched {
  pid: number;
  beats: () => number;
  seen: number;
  hasBeaten: boolean;
  silentLooks: number;
  chargedMs: number;
  cpuMs: number;
}

export class Watchdog {
  readonly #watched = new Map<number, Watched>();
  readonly #stateOf: (pid: number) => ProcessState | undefined;

  constructor(stateOf: (pid: number) => ProcessState | undefined = readProcessState) {
    this.#stateOf = stateOf;
  }

  /** The process was started, and will beat. `id` is any number of the caller's. */
  begin(id: number, pid: number, beats: () => number): void {
    this.#watched.set(id, {
      ...{ pid, beats, seen: beats(), hasBeaten: false, silentLooks: 0 },
      ...{ chargedMs: 0, cpuMs: Number.NaN },
    });
  }

  end(id: number): void {
    this.#watched.delete(id);
  }

  /** Call about every {@link lookIntervalMs}. Gives those that hang, once each. */
  look(): number[] {
    const hanging: number[] = [];
    for (const [id, watched] of this.#watched) {
      if (this.#hangs(watched)) hanging.push(id);
    }
    for (const id of hanging) this.#watched.delete(id);
    return hanging;
  }

  #hangs(watched: Watched): boolean {
    const beats = watched.beats();
    if (beats !== watched.seen) {
      watched.seen = beats;
      watched.hasBeaten = true;
      watched.silentLooks = 0;
      watched.chargedMs = 0;
      watched.cpuMs = Number.NaN;
      return false;
    }
    watched.silentLooks++;
    if (watched.silentLooks < patienceLooks) return false;
    const state = this.#stateOf(watched.pid);
    if (state !== undefined) {
      if (state.state === 'T') return true;
      if (state.state === 'S') watched.chargedMs += lookIntervalMs;
      if (state.state === 'R' && watched.cpuMs <= state.cpuMs) {
        watched.chargedMs += state.cpuMs - watched.cpuMs;
      }
      watched.cpuMs = state.cpuMs;
    }
    const silentMs = watched.silentLooks * lookIntervalMs;
    if (!watched.hasBeaten) return silentMs >= startMaxMs;
    return watched.chargedMs >= chargeMaxMs || silentMs >= silentMaxMs;
  }
}

/** Clock ticks of Linux' accounts: 100 a second on every machine that Node runs on. */
const tickMs = 10;

/** From `/proc`; `undefined` when the process is gone, or there is no `/proc`. */
export function readProcessState(pid: number): ProcessState | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The name in parentheses may itself hold spaces and parentheses.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs };
}
