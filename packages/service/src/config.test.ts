import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ConfigError, environmentName, flagName, HelpRequested, readConfig } from './config.ts';

const shape = z.object({
  scrapeIntervalMs: z.number().int().min(1).max(1_000).default(50).describe('Time per scrape.'),
  mode: z.enum(['pod', 'node', 'auto']).default('auto'),
  tls: z.boolean().default(true),
  natsUrl: z.array(z.string()).default([]),
  podName: z.string().optional(),
});

function read(argv: string[], env: Record<string, string> = {}) {
  return readConfig(shape, { argv, env, name: 'test' });
}

function problemsOf(argv: string[], env: Record<string, string> = {}): readonly string[] {
  try {
    read(argv, env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('a setting that had another name', () => {
  const renamed = z.object({
    natsUrl: z.array(z.string()).default([]).meta({ formerly: 'broker' }),
  });
  const readRenamed = (argv: string[], env: Record<string, string> = {}) => {
    const warnings: string[] = [];
    const warn = (text: string) => warnings.push(text);
    return { ...readConfig(renamed, { argv, env, name: 'test', warn }), warnings };
  };

  it('is read by it, with a warning', () => {
    for (const given of [
      readRenamed(['--broker', 'a']),
      readRenamed([], { LEADSMAN_BROKER: 'a' }),
    ]) {
      expect(given.natsUrl).toEqual(['a']);
      expect(given.warnings).toHaveLength(1);
      expect(given.warnings[0]).toMatch(/--broker .* is called --nats-url /);
    }
  });

  it('is read without one by its present name, which wins', () => {
    const given = readRenamed(['--nats-url', 'b'], { LEADSMAN_BROKER: 'a' });
    expect(given).toEqual({ natsUrl: ['b'], warnings: [] });
  });
});

describe('readConfig', () => {
  it('names flags and variables after the key', () => {
    expect(flagName('scrapeIntervalMs')).toBe('scrape-interval-ms');
    expect(environmentName('scrapeIntervalMs')).toBe('LEADSMAN_SCRAPE_INTERVAL_MS');
  });

  it('takes defaults, then variables, then flags', () => {
    expect(read([]).scrapeIntervalMs).toBe(50);
    const env = { LEADSMAN_SCRAPE_INTERVAL_MS: '70' };
    expect(read([], env).scrapeIntervalMs).toBe(70);
    expect(read(['--scrape-interval-ms', '80'], env).scrapeIntervalMs).toBe(80);
    expect(read(['--scrape-interval-ms=90'], env).scrapeIntervalMs).toBe(90);
  });

  it('reads lists and booleans in every usual spelling', () => {
    expect(read(['--nats-url', 'nats://a:1, nats://b:2']).natsUrl).toEqual([
      'nats://a:1',
      'nats://b:2',
    ]);
    expect(read(['--no-tls']).tls).toBe(false);
    expect(read(['--tls=false']).tls).toBe(false);
    expect(read([], { LEADSMAN_TLS: '0' }).tls).toBe(false);
    expect(read(['--tls'], { LEADSMAN_TLS: 'false' }).tls).toBe(true);
  });

  it('treats an empty variable as absent', () => {
    expect(read([], { LEADSMAN_POD_NAME: '' }).podName).toBeUndefined();
  });

  it('reports all faults at once and names flag and variable', () => {
    const problems = problemsOf(
      ['--scrape-interval-ms', 'soon', '--mode', 'fast', '--nonsense', 'stray'],
      { LEADSMAN_TLS: 'perhaps' },
    );
    expect(problems).toHaveLength(5);
    expect(problems.join('\n')).toMatch(/--scrape-interval-ms \(LEADSMAN_SCRAPE_INTERVAL_MS\)/);
    expect(problems.join('\n')).toMatch(/unknown flag: --nonsense/);
    expect(problems.join('\n')).toMatch(/unexpected argument: stray/);
  });

  it('refuses a number out of bounds, and a flag without its value', () => {
    expect(problemsOf(['--scrape-interval-ms', '0'])).toHaveLength(1);
    expect(problemsOf(['--mode'])).toEqual(['--mode: needs a value']);
  });

  it('knows no flag by what every object inherits', () => {
    expect(problemsOf(['--constructor=1', '--toString'])).toEqual([
      'unknown flag: --constructor',
      'unknown flag: --toString',
    ]);
  });

  it('freezes the result', () => {
    expect(Object.isFrozen(read([]))).toBe(true);
  });

  it('answers --help with every flag', () => {
    expect(() => read(['--help'])).toThrow(HelpRequested);
    try {
      read(['--help']);
    } catch (error) {
      const { text } = error as HelpRequested;
      expect(text).toMatch(/--scrape-interval-ms {2}LEADSMAN_SCRAPE_INTERVAL_MS \(default 50\)/);
      expect(text).toMatch(/Time per scrape\./);
    }
  });
});
