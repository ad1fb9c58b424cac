/**
 * Logs: one JSON line per event on stdout, with the process's name in each.
 *
 * ```
 *   {"level":"warn","time":"2026-01-31T09:00:00.000Z","name":"sidecar","err":{…},"msg":"…"}
 * ```
 *
 * Lines are written at once, in order: the last one before an end is the one that tells why. Where
 * whoever reads them is slow, up to {@link heldBytesMax} wait for the next line; what is beyond is
 * dropped, and the next line that is written says how many were. A library brings threads and
 * transports for this, which nothing here uses.
 */
import { writeSync } from 'node:fs';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** One event: its text, or fields and a text. An Error is best given as the field `err`. */
export interface LogMethod {
  (message: string): void;
  (fields: object, message?: string): void;
}

export type Logger = Record<Exclude<LogLevel, 'silent'>, LogMethod>;

/** Bytes of lines that wait for a slow reader. */
const heldBytesMax = 65_536;
const standardOutput = 1;
/** Causes of causes are followed this far. */
const causesMax = 5;

/** Writes bytes, and returns how many; throws EAGAIN when it cannot take any now. */
export type LogWrite = (bytes: Uint8Array) => number;

export interface LoggerOptions {
  name: string;
  level: LogLevel;
  write?: LogWrite;
  unixMs?: () => number;
}

/** A logger for a process, or for one of its threads. Its methods never throw. */
export function createLogger(options: LoggerOptions): Logger {
  const { name, level: least, unixMs = Date.now } = options;
  const lines = new LineWriter(options.write ?? ((bytes) => writeSync(standardOutput, bytes)));
  const methods = logLevels.slice(0, -1).map((level) => {
    if (logLevels.indexOf(level) < logLevels.indexOf(least)) return [level, ignore];
    const method = (given: string | object, message?: string) => {
      const time = new Date(unixMs()).toISOString();
      const isText = typeof given === 'string';
      const fields = isText ? {} : given instanceof Error ? { err: given } : given;
      const msg = isText
        ? given
        : (message ?? (given instanceof Error ? given.message : undefined));
      lines.write(textOf({ level, time, name, ...fields, msg }));
    };
    return [level, method];
  });
  return Object.fromEntries(methods) as Logger;
}

class LineWriter {
  readonly #write: LogWrite;
  #held = Buffer.alloc(0);
  #dropped = 0;

  constructor(write: LogWrite) {
    this.#write = write;
  }

  write(line: string): void {
    if (this.#held.length > heldBytesMax) {
      this.#flush();
      if (this.#held.length > heldBytesMax) {
        this.#dropped++;
        return;
      }
    }
    const told = this.#dropped === 0 ? '' : `{"level":"warn","droppedLines":${this.#dropped}}\n`;
    this.#dropped = 0;
    this.#held = Buffer.concat([this.#held, Buffer.from(`${told}${line}\n`)]);
    this.#flush();
  }

  #flush(): void {
    try {
      while (this.#held.length > 0) this.#held = this.#held.subarray(this.#write(this.#held));
    } catch (error) {
      // Full for now: the next line tries again. Nobody there: nobody misses it.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') this.#held = Buffer.alloc(0);
    }
  }
}

function textOf(event: object): string {
  try {
    return JSON.stringify(event, plain);
  } catch {
    // A circle among the fields, or a getter that throws.
    const { level, time, name, msg } = event as Record<string, unknown>;
    return JSON.stringify({ level, time, name, msg, fields: 'cannot be written' });
  }
}

function plain(_: string, value: unknown): unknown {
  if (value instanceof Error) return plainError(value, causesMax);
  if (typeof value === 'bigint') return String(value);
  return value;
}

/** Name, text, stack and own fields of an error and its causes. */
function plainError(error: Error, causes: number): object {
  const { cause } = error;
  return {
    ...error,
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(error instanceof AggregateError && { errors: error.errors }),
    ...(cause !== undefined && {
      cause: cause instanceof Error && causes > 0 ? plainError(cause, causes - 1) : String(cause),
    }),
  };
}

function ignore(): void {}
