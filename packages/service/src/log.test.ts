import { describe, expect, it } from 'vitest';
import { createLogger, type LogLevel, type LogWrite } from './log.ts';

function start(level: LogLevel = 'info', write?: LogWrite) {
  let text = '';
  const take: LogWrite = (bytes) => {
    text += Buffer.from(bytes).toString();
    return bytes.length;
  };
  const logger = createLogger({ name: 'part', level, write: write ?? take, unixMs: () => 0 });
  const lines = () => text.split('\n').filter(Boolean);
  return { logger, lines, events: () => lines().map((line) => JSON.parse(line)), take };
}

describe('a line', () => {
  it('has level, time, name, fields and text', () => {
    const { logger, lines } = start();
    logger.info({ port: 1 }, 'listening');
    logger.warn('careful');
    expect(lines()).toEqual([
      '{"level":"info","time":"1970-01-01T00:00:00.000Z","name":"part","port":1,"msg":"listening"}',
      '{"level":"warn","time":"1970-01-01T00:00:00.000Z","name":"part","msg":"careful"}',
    ]);
  });

  it('is written from the least level on', () => {
    const { logger, events } = start('warn');
    for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) {
      logger[level](level);
    }
    expect(events().map(({ level }) => level)).toEqual(['warn', 'error', 'fatal']);
    const silent = start('silent');
    silent.logger.fatal('unheard');
    expect(silent.lines()).toEqual([]);
  });

  it('tells errors with their fields and causes, a circle of causes too', () => {
    const { logger, events } = start();
    const cause = new TypeError('inner');
    const error = Object.assign(new Error('outer', { cause }), { code: 'E_X' });
    cause.cause = error;
    logger.error({ err: error }, 'failed');
    logger.error(new AggregateError([new Error('one'), 'two'], 'both'));
    expect(events()).toMatchObject([
      {
        msg: 'failed',
        err: { type: 'Error', message: 'outer', code: 'E_X', cause: { type: 'TypeError' } },
      },
      { msg: 'both', err: { errors: [{ message: 'one' }, 'two'] } },
    ]);
    expect(events()[0].err.stack).toContain('log.test.ts');
  });

  it.each([
    ['a circle', () => []],
    ['a bigint', () => 1n],
    ['a line feed', () => 'a\nb'],
  ])('is one line whatever its fields hold: %s', (_, make) => {
    const { logger, lines } = start();
    const value: unknown = make();
    if (Array.isArray(value)) value[0] = value;
    logger.info({ value }, 'said');
    expect(lines()).toHaveLength(1);
    expect(JSON.parse(lines()[0] as string).msg).toBe('said');
  });
});

describe('a reader that is slow', () => {
  const full = () => {
    throw Object.assign(new Error('full'), { code: 'EAGAIN' });
  };

  it('gets every line once it reads, in parts as it takes them', () => {
    const { lines, take } = start();
    let isFull = true;
    const some: LogWrite = (bytes) => (isFull ? full() : take(bytes.subarray(0, 7)));
    const { logger } = start('info', some);
    logger.info('first');
    isFull = false;
    logger.info('second');
    expect(lines().map((line) => JSON.parse(line).msg)).toEqual(['first', 'second']);
  });

  it('gets what fits the bound, and how many lines did not', () => {
    const { events, take } = start();
    let isFull = true;
    const { logger } = start('info', (bytes) => (isFull ? full() : take(bytes)));
    for (let i = 0; i < 5_000; i++) logger.info({ i }, 'x'.repeat(100));
    isFull = false;
    logger.info('after');
    const told = events();
    const dropped = told.find(({ droppedLines }) => droppedLines > 0)?.droppedLines;
    expect(told.length).toBeLessThan(1_000);
    expect(told.length - 2 + dropped).toBe(5_000);
    expect(told.at(-1).msg).toBe('after');
  });

  it('that is gone costs nothing', () => {
    const { logger } = start('info', () => {
      throw Object.assign(new Error('gone'), { code: 'EPIPE' });
    });
    expect(() => logger.info('unheard')).not.toThrow();
  });
});
