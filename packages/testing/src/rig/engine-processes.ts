/**
 * The engines of a rig, in one process or in one each: the first costs less, with the second one
 * engine can die or stand still without the others.
 */
import {
  type EngineProcess,
  type EngineProcessState,
  launchEngineSimulators,
  type RemoteEngine,
  type RemoteEngineOptions,
} from '../engine-simulator/launch.ts';

export class EngineProcesses {
  readonly #options: readonly (readonly RemoteEngineOptions[])[];
  readonly #processes: EngineProcess[];

  private constructor(
    options: readonly (readonly RemoteEngineOptions[])[],
    processes: EngineProcess[],
  ) {
    this.#options = options;
    this.#processes = processes;
  }

  /** An engine per entry, each in a process of its own when `apart`. */
  static async launch(
    engines: readonly RemoteEngineOptions[],
    apart: boolean,
  ): Promise<EngineProcesses> {
    const options = apart ? engines.map((each) => [each]) : [engines];
    const started = await Promise.allSettled(options.map(launchEngineSimulators));
    const up = started.filter((each) => each.status === 'fulfilled').map(({ value }) => value);
    const failed = started.find((each) => each.status === 'rejected');
    if (failed === undefined) return new EngineProcesses(options, up);
    await Promise.all(up.map((each) => each.stop()));
    throw failed.reason;
  }

  /** In the order of the entries that they were launched with. */
  get engines(): readonly RemoteEngine[] {
    return this.#processes.flatMap((each) => each.engines);
  }

  /** All of them; one, or one per engine. */
  get processes(): readonly EngineProcess[] {
    return this.#processes;
  }

  /** Rejects while one of them is gone. */
  async state(): Promise<EngineProcessState> {
    const states = await Promise.all(this.#processes.map((each) => each.state()));
    return {
      engines: states.flatMap(({ engines }) => engines),
      cpuMs: states.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    };
  }

  /** Brings a process that has ended back, its engines at their former addresses. */
  async restart(index: number): Promise<void> {
    const former = this.#processes[index]!.engines;
    const options = this.#options[index]!.map((each, i) => ({ ...each, port: former[i]!.port }));
    this.#processes[index] = await launchEngineSimulators(options);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((each) => each.stop()));
  }
}
