/** Child processes of this benchmark: started from a file of this folder, ended by their id. */
import { type ChildProcess, fork } from 'node:child_process';

const children = new Set<ChildProcess>();

/** `task` becomes the child's only argument, as JSON. */
export function startChild(file: string, task: unknown): ChildProcess {
  const child = fork(new URL(file, import.meta.url), [JSON.stringify(task)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** The child's next message. Rejects when it ends instead. */
export function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`child ended with code ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message as T);
    });
  });
}

export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  if (child.connected) child.disconnect();
  const timer = setTimeout(() => child.kill('SIGKILL'), 2_000);
  await ended;
  clearTimeout(timer);
}

/** Whatever is left when a benchmark fails half way. */
export async function endAllChildren(): Promise<void> {
  await Promise.all([...children].map(endChild));
}
