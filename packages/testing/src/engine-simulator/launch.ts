/**
 * Starts simulated engines in a child process (see main.ts) and controls them from here.
 */
import { fileURLToPath } from 'node:url';
import { launchProcess, type RunningProcess } from '../process/child-process.ts';
import { waitUntil } from '../process/wait-until.ts';
import type { EngineFaults } from './faults.ts';
import type { EngineAddress, EngineCommand, EngineNotice, EngineState } from './messages.ts';
import type { EngineSimulatorOptions } from './simulator.ts';

/** Options that can cross a process border. */
export type RemoteEngineOptions = Omit<EngineSimulatorOptions, 'now' | 'nowUnixMs'>;

export interface RemoteEngine extends EngineAddress {
  setSpeed(speed: number): void;
  setFaults(faults: Partial<EngineFaults>): void;
}

/** `cpuMs`: user and system time of the whole process. */
export interface EngineProcessState {
  engines: EngineState[];
  cpuMs: number;
}

export interface EngineProcess {
  readonly engines: readonly RemoteEngine[];
  readonly process: RunningProcess;
  /** What the engines are doing, and the CPU time that their process has used. */
  state(): Promise<EngineProcessState>;
  stop(): Promise<void>;
}

/** One process with an engine per entry. Resolves when all of them listen. */
export async function launchEngineSimulators(
  options: readonly RemoteEngineOptions[],
): Promise<EngineProcess> {
  let addresses: EngineAddress[] | undefined;
  let nextId = 1;
  const asked = new Map<number, PromiseWithResolvers<EngineProcessState>>();
  const child = await launchProcess({
    name: 'simulated engines',
    command: process.execPath,
    args: [fileURLToPath(new URL('./main.ts', import.meta.url)), JSON.stringify(options)],
    ipc: true,
    onMessage: (message) => {
      const notice = message as EngineNotice;
      if (notice.kind === 'ready') addresses = notice.engines;
      else {
        asked.get(notice.id)?.resolve(notice);
        asked.delete(notice.id);
      }
    },
  });
  void child.exited.then(() => {
    for (const { reject } of asked.values()) reject(new Error('the engines ended'));
    asked.clear();
  });
  await waitUntil(() => addresses !== undefined || child.exitState !== undefined, {
    what: 'the simulated engines to listen',
    describe: () => child.output(),
  });
  if (addresses === undefined) throw new Error(`the simulated engines ended:\n${child.output()}`);
  const send = (command: EngineCommand) => child.send(command);
  return {
    process: child,
    engines: addresses.map((address, engine) => ({
      ...address,
      setSpeed: (speed) => send({ kind: 'speed', engine, speed }),
      setFaults: (faults) => send({ kind: 'faults', engine, faults }),
    })),
    state: () => {
      if (child.exitState !== undefined) return Promise.reject(new Error('the engines ended'));
      const answer = Promise.withResolvers<EngineProcessState>();
      asked.set(nextId, answer);
      send({ kind: 'state', id: nextId++ });
      return answer.promise;
    },
    stop: async () => {
      await child.stop();
    },
  };
}
