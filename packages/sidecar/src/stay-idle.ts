/**
 * What a sidecar does that cannot start: it stays, does nothing, and says why.
 *
 * A native sidecar counts for its pod: while its container is down or backs off, the whole pod is
 * not ready, and an engine would lose its traffic over a misspelt annotation. Without a report the
 * pod is merely unknown to the pickers.
 */
import type { Logger } from '@leadsman/service';

/** Often enough to be found in a log, seldom enough not to fill it. */
const remindMs = 60_000;

/** Resolves when the process is asked to end. */
export function stayIdle(error: unknown, logger: Logger): Promise<void> {
  const remind = () => logger.error({ err: error }, 'cannot start; staying idle for the pod');
  const timer = setInterval(remind, remindMs);
  return new Promise((resolve) => {
    const end = () => {
      clearInterval(timer);
      resolve();
    };
    process.once('SIGTERM', end);
    process.once('SIGINT', end);
    // Whoever reads the line may ask the process to end at once.
    remind();
  });
}
