/**
 * Start and end of a process.
 *
 * The first SIGTERM or SIGINT begins an orderly stop with a time limit; a second one ends the
 * process at once. A fault that nobody caught is logged and ends the process: its state is
 * unknown, and the kubelet starts a clean one.
 */
import { inspect } from 'node:util';
import { ConfigError, HelpRequested } from './config.ts';
import type { Logger } from './log.ts';

export interface ShutdownOptions {
  logger: Logger;
  /** Stops the process's parts; called once. */
  stop: () => Promise<void>;
  /** How long `stop` may take, ms. */
  graceMs: number;
}

/** Installs the handlers of signals and of uncaught faults. */
export function onShutdown(options: ShutdownOptions): void {
  const { logger } = options;
  let stopping = false;
  const end = (signal: string) => {
    if (stopping) {
      logger.warn({ signal }, 'second signal, ending at once');
      process.exit(1);
    }
    stopping = true;
    logger.info({ signal, graceMs: options.graceMs }, 'stopping');
    setTimeout(() => {
      logger.error({ graceMs: options.graceMs }, 'stop took longer than its grace period');
      process.exit(1);
    }, options.graceMs).unref();
    options.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, 'stop failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  process.on('uncaughtException', (error, origin) => {
    logger.fatal({ err: error, origin }, 'uncaught fault');
    process.exit(70);
  });
}

/**
 * Runs a process's `main`. A configuration that cannot be used ends it with code 2 and all its
 * faults on stderr; `--help` with code 0; any other fault with code 1, and its causes on stderr.
 */
export async function runMain(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (error instanceof HelpRequested) {
      process.stdout.write(error.text);
      process.exit(0);
    }
    if (error instanceof ConfigError) {
      process.stderr.write(`${error.message}\n`);
      process.exit(2);
    }
    process.stderr.write(`${inspect(error)}\n`);
    process.exit(1);
  }
}
