/**
 * A child process that is kept running: started with what it must know, started again when it ends
 * unasked, with a growing wait, and ended with this process.
 *
 * Children and parent talk by Node's channel (structured clone) and share one {@link SharedMemory}.
 * Nothing a child does, short of filling the machine, can end its parent or its siblings.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../log.ts';
import type { SharedMemory } from './shared-memory.ts';

/** How long to wait before a further start. */
export interface RestartWait {
  /** The next wait, ms. */
  next(): number;
  /** The next wait is the first again. */
  reset(): void;
}

export interface SupervisedOptions<Start, ToChild, FromChild> {
  /** In logs. */
  name: string;
  /** The entry file; it begins with `connectToParent`. */
  entry: URL;
  /** Options of Node, such as the heap's size. */
  nodeOptions: readonly string[];
  memory: SharedMemory;
  /** The first message, made anew for each start. */
  start(): Start;
  /** What the child is told next, made anew for each start. */
  greetings(): readonly ToChild[];
  /** It was started. */
  onStart?(pid: number): void;
  onMessage(message: FromChild): void;
  /** It ended unasked; called before it is started again. */
  onExit(): void;
  wait: RestartWait;
  logger: Logger;
}

/** A child that lived this long was well: the next wait is the first again. */
const wellAfterMs = 30_000;

export class SupervisedProcess<Start, ToChild, FromChild> {
  readonly #options: SupervisedOptions<Start, ToChild, FromChild>;
  #child: ChildProcess | undefined;
  #restarts = 0;
  #retired = false;
  #stopping = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: SupervisedOptions<Start, ToChild, FromChild>) {
    this.#options = options;
  }

  /** `undefined` while none runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts after an end that nobody asked for, ever. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Starts it, once; from then on it is kept running. */
  begin(): void {
    if (this.#child !== undefined) throw new Error(`${this.#options.name} runs already`);
    this.#spawn();
  }

  /** Tells the child, if it runs; one that is down gets its greetings when it is back. */
  post(message: ToChild): void {
    this.#child?.send(message as object, ignore);
  }

  /** Ends the present child at once, whatever it is doing; it is started again. */
  kill(): void {
    this.#child?.kill('SIGKILL');
  }

  /** From now on a child that ends is not started again. */
  retire(): void {
    this.#retired = true;
    clearTimeout(this.#timer);
  }

  /**
   * Ends the child for good: at once, or, with `last`, when it has done what that message asks of
   * it, within `graceMs`.
   */
  async stop(last?: { message: ToChild; graceMs: number }): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    const child = this.#child;
    if (child === undefined) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    if (last === undefined) child.kill('SIGKILL');
    else this.post(last.message);
    const timer = setTimeout(() => child.kill('SIGKILL'), last?.graceMs ?? 0);
    await ended;
    clearTimeout(timer);
  }

  #spawn(): void {
    const { entry, nodeOptions, memory, name, logger } = this.#options;
    const child = spawn(process.execPath, [...nodeOptions, fileURLToPath(entry)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', memory.fd],
      serialization: 'advanced',
    });
    const beganAtMs = performance.now();
    this.#child = child;
    child.on('message', (message) => this.#options.onMessage(message as FromChild));
    let over = false;
    const end = (code: number | null, signal: string | null): void => {
      if (over) return;
      over = true;
      this.#child = undefined;
      if (this.#stopping) return;
      logger.error({ name, code, signal, restarts: !this.#retired }, 'process ended');
      this.#options.onExit();
      if (!this.#retired) this.#restartLater(performance.now() - beganAtMs);
    };
    child.once('exit', end);
    child.on('error', (error) => {
      logger.error({ name, err: error }, 'process failed');
      // One that could not be started does not exit.
      if (child.pid === undefined) end(null, null);
    });
    if (child.pid !== undefined) this.#options.onStart?.(child.pid);
    child.send(this.#options.start() as object, ignore);
    for (const message of this.#options.greetings()) this.post(message);
  }

  #restartLater(livedMs: number): void {
    const { wait } = this.#options;
    if (livedMs >= wellAfterMs) wait.reset();
    this.#timer = setTimeout(() => {
      this.#restarts++;
      this.#spawn();
    }, wait.next());
  }
}

function ignore(): void {
  // A message to a child that just died; its end is told by itself.
}
