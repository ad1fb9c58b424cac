/** Logs: one JSON line per event on stdout, by pino, with the process's name in each. */
import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** A logger for a process, or for one of its threads. */
export function createLogger(options: { name: string; level: LogLevel }): Logger {
  return pino({
    name: options.name,
    level: options.level,
    // A host name says nothing in a pod whose name is the node's business.
    base: { name: options.name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
}
