/** The changes of a round, in order: each begins where the one before it ended. */
import type { HandoverSystem } from './system.ts';

export interface Step {
  what: string;
  cause(system: HandoverSystem): Promise<void>;
  /** The way that all sidecars then take. */
  to: 'agent' | 'own';
  /** Wait until the sidecars have closed their own transports. */
  cold: boolean;
}

const starts = { cause: (system: HandoverSystem) => system.startAgent(), to: 'agent' } as const;
const stops = { cause: (system: HandoverSystem) => system.stopAgent(), to: 'own' } as const;

function signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') {
  return async (system: HandoverSystem) => system.signalAgent(name);
}

/** The agent is there at the begin and at the end of a round. */
export function steps(smoke: boolean): Step[] {
  const first: Step[] = [
    { what: 'agent stops, cold', ...stops, cold: true },
    { what: 'agent starts', ...starts, cold: false },
  ];
  if (smoke) return first;
  return [
    ...first,
    { what: 'agent stops, warm', ...stops, cold: false },
    { what: 'agent starts', ...starts, cold: false },
    { what: 'agent killed, cold', cause: signal('SIGKILL'), to: 'own', cold: true },
    { what: 'agent starts', ...starts, cold: false },
    { what: 'agent hangs, cold', cause: signal('SIGSTOP'), to: 'own', cold: true },
    { what: 'agent goes on', cause: signal('SIGCONT'), to: 'agent', cold: false },
  ];
}
