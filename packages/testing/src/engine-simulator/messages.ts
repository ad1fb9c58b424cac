/** What a process of simulated engines and its owner tell each other over the IPC channel. */
import type { EngineFaults } from './faults.ts';

export interface EngineAddress {
  host: string;
  port: number;
  url: string;
}

export interface EngineState {
  served: number;
  /** Metrics pages asked for from the engine's own address: by its sidecar, that is. */
  ownScrapes: number;
  /** Metrics pages asked for from any other address. */
  foreignScrapes: number;
  /** Those of both that asked by name. */
  byNameScrapes: number;
  running: number;
  waiting: number;
  kvUsageRatio: number;
}

/** Owner to engines. `engine` is the position in the list that the process was started with. */
export type EngineCommand =
  | { kind: 'faults'; engine: number; faults: Partial<EngineFaults> }
  | { kind: 'speed'; engine: number; speed: number }
  | { kind: 'state'; id: number };

/** Engines to owner. */
export type EngineNotice =
  | { kind: 'ready'; engines: EngineAddress[] }
  /** `cpuMs`: user and system time of the whole process. */
  | { kind: 'state'; id: number; engines: EngineState[]; cpuMs: number };
