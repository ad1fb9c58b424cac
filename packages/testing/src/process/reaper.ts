/**
 * Makes sure that no process we started outlives us, however we end.
 *
 * An orderly end runs the `exit` hook. A crash, SIGKILL or Ctrl-C runs nothing, so one small shell
 * watches: it reads the pids to kill from a pipe whose other end only we hold, and when the pipe
 * closes without us having said otherwise, it kills them. It ignores the signals that a terminal
 * sends to the whole process group, as it has to outlive us by a moment. POSIX sh, so it works
 * wherever the tests do.
 *
 * Pids are told to it when a process starts and taken back when it has ended, so a pid that the
 * system has given to someone else is never killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';

const watcherScript = `
trap '' INT TERM HUP QUIT
pids=" "
while read -r verb pid; do
  case "$verb" in
    watch) pids="$pids$pid " ;;
    forget) pids="\${pids%% $pid *} \${pids#* $pid }" ;;
  esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
`;

const watched = new Set<number>();
let watcher: ChildProcess | undefined;

/** From now on `pid` is killed when this process ends. Call {@link forget} once it has ended. */
export function watch(pid: number): void {
  watched.add(pid);
  if (watcher === undefined) watcher = startWatcher();
  watcher.stdin?.write(`watch ${pid}\n`);
}

/** `pid` has ended: it is no longer ours to kill. */
export function forget(pid: number): void {
  if (!watched.delete(pid)) return;
  watcher?.stdin?.write(`forget ${pid}\n`);
}

function startWatcher(): ChildProcess {
  const child = spawn('sh', ['-c', watcherScript], { stdio: ['pipe', 'ignore', 'ignore'] });
  // A machine without sh keeps the exit hook; losing the watcher must not fail a test.
  child.on('error', () => {});
  child.stdin?.on('error', () => {});
  child.unref();
  (child.stdin as unknown as { unref?: () => void }).unref?.();
  process.on('exit', killWatched);
  return child;
}

function killWatched(): void {
  for (const pid of watched) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended in the meantime.
    }
  }
}
