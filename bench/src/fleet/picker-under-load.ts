/**
 * A picker process that reads the fleet's feed as in production, and a gateway's exchanges to it at
 * a fixed rate. Both are processes of their own: what is measured beside them does not pay for them.
 */
import type { ChildProcess } from 'node:child_process';
import { endChild, nextMessage, startChild } from './child.ts';
import type { ExchangeCommand, ExchangeResult, ExchangeTask } from './exchange-process.ts';
import type { PickerReady, PickerStatus, PickerTask } from './picker-process.ts';

export class PickerUnderLoad {
  /** Where senders stream to when there is no broker. */
  readonly direct: string;
  readonly #port: number;
  readonly #picker: ChildProcess;
  #gateway: ChildProcess | undefined;

  private constructor(picker: ChildProcess, { direct, extProcPort }: PickerReady) {
    this.#picker = picker;
    this.direct = direct;
    this.#port = extProcPort;
  }

  /** Resolves when the picker listens. */
  static async launch(task: PickerTask): Promise<PickerUnderLoad> {
    const picker = startChild('./picker-process.ts', task);
    return new PickerUnderLoad(picker, await nextMessage<PickerReady>(picker));
  }

  async status(): Promise<PickerStatus> {
    const answer = nextMessage<PickerStatus>(this.#picker);
    this.#picker.send('tell');
    return answer;
  }

  /** Exchanges begin, `perS` each second. */
  async beginLoad(perS: number): Promise<void> {
    const task: ExchangeTask = { port: this.#port, perS };
    this.#gateway = startChild('./exchange-process.ts', task);
    await nextMessage(this.#gateway);
  }

  /** What is sent from now on is counted. */
  measureLoad(): void {
    this.#tell('measure');
  }

  /** What became of the exchanges since {@link measureLoad}. */
  async endLoad(): Promise<ExchangeResult> {
    const gateway = this.#gateway;
    if (gateway === undefined) throw new Error('there is no load');
    const result = nextMessage<ExchangeResult>(gateway);
    this.#tell('tell');
    const told = await result;
    await endChild(gateway);
    return told;
  }

  async stop(): Promise<void> {
    if (this.#gateway !== undefined) await endChild(this.#gateway);
    await endChild(this.#picker);
  }

  #tell(command: ExchangeCommand): void {
    this.#gateway?.send(command);
  }
}
