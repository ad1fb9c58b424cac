/** The changes of a round, in order: each begins where the one before it ended. */
import type { HandoverSystem } from './system.ts';

export interface Step {
  what: string;
  cause(system: HandoverSystem): Promise<void>;
  /** The way that all sidecars then take. */
  to: 'agent' | 'own';
  /**
   * `fresh`: sidecars that have never needed a transport of their own, as most are that live under
   * an agent; they first load the code for it. `closed`: theirs was closed after its grace. `any`:
   * as the step before left them, with an open transport.
   */
  from: 'fresh' | 'closed' | 'any';
}

const starts = { cause: (system: HandoverSystem) => system.startAgent(), to: 'agent' } as const;
const stops = { cause: (system: HandoverSystem) => system.stopAgent(), to: 'own' } as const;

function signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') {
  return async (system: HandoverSystem) => system.signalAgent(name);
}

const killed = { cause: signal('SIGKILL'), to: 'own' } as const;
const hangs = { cause: signal('SIGSTOP'), to: 'own' } as const;
const goesOn = { cause: signal('SIGCONT'), to: 'agent' } as const;

/** The agent is there at the begin and at the end of a round. */
export function steps(smoke: boolean): Step[] {
  const first: Step[] = [
    { what: 'agent stops, first time', ...stops, from: smoke ? 'any' : 'fresh' },
    { what: 'agent starts', ...starts, from: 'any' },
  ];
  if (smoke) return first;
  return [
    ...first,
    { what: 'agent stops again', ...stops, from: 'any' },
    { what: 'agent starts', ...starts, from: 'any' },
    { what: 'agent killed, first time', ...killed, from: 'fresh' },
    { what: 'agent starts', ...starts, from: 'any' },
    { what: 'agent killed later', ...killed, from: 'closed' },
    { what: 'agent starts', ...starts, from: 'any' },
    { what: 'agent hangs, first time', ...hangs, from: 'fresh' },
    { what: 'agent goes on', ...goesOn, from: 'any' },
    { what: 'agent hangs again', ...hangs, from: 'any' },
    { what: 'agent goes on', ...goesOn, from: 'any' },
  ];
}
