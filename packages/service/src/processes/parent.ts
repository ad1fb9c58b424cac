/**
 * The child's end of a supervised process: what an entry file does first.
 *
 * The parent alone acts on signals, so a child is deaf to those that a terminal or an init sends to
 * a whole group. It ends with its parent, however that ends: orderly by the closed channel, and by
 * the kernel's hand where the child hangs itself.
 */
import type { Logger } from '../log.ts';
import { SharedMemory } from './shared-memory.ts';
import { systemCalls } from './system-calls.ts';

export interface Parent<Start, ToChild, FromChild> {
  /** What the parent says of this start. */
  readonly start: Start;
  readonly memory: SharedMemory;
  post(message: FromChild): void;
  /** From now on messages go to `receive`, those first that came before. */
  receive(receive: (message: ToChild) => void): void;
}

/** Exit code after a fault that nobody caught, as the parent's own. */
const faultCode = 70;

/** Waits for the parent's first message. Throws in a process that has no parent of ours. */
export async function connectToParent<Start, ToChild, FromChild>(): Promise<
  Parent<Start, ToChild, FromChild>
> {
  if (process.send === undefined) throw new Error('this file runs as a child process only');
  systemCalls().dieWithParent();
  process.on('disconnect', () => process.exit(0));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, ignore);
  const first = Promise.withResolvers<Start>();
  let waiting: ToChild[] | undefined;
  let listener: ((message: ToChild) => void) | undefined;
  process.on('message', (message: unknown) => {
    if (waiting === undefined) {
      waiting = [];
      first.resolve(message as Start);
    } else if (listener === undefined) waiting.push(message as ToChild);
    else listener(message as ToChild);
  });
  const start = await first.promise;
  return {
    start,
    memory: SharedMemory.inherited(),
    // An error means that the parent is gone, and so is this process in a moment.
    post: (message) => void process.send?.(message, undefined, undefined, ignore),
    receive(receive) {
      listener = receive;
      for (const message of waiting?.splice(0) ?? []) receive(message);
    },
  };
}

/** A fault that nobody caught is logged and ends this process only; the parent starts another. */
export function endOnFault(logger: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    logger.fatal({ err: error, origin }, 'uncaught fault');
    process.exit(faultCode);
  });
}

function ignore(): void {
  // Nothing is to be done here.
}
