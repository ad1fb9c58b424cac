import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { poolConfigOf } from '../../worker/build-policy.ts';
import * as catalog from '../../worker/policy/catalog.ts';
import { extensionLoader } from './config-source.ts';
import { configForStrategy, parseStrategyFile } from './strategy-file.ts';
import { StrategyFileError } from './strategy-file-error.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'leadsman-strategy-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function parse(text: string) {
  return parseStrategyFile(text, 'strategy.yaml', extensionLoader(directory));
}

async function problemsOf(text: string): Promise<readonly string[]> {
  try {
    await parse(text);
  } catch (error) {
    if (error instanceof StrategyFileError) return error.problems;
    throw error;
  }
  return [];
}

describe('a strategy file', () => {
  it('that is empty means expected-work for every pool', async () => {
    const { config } = await parse('');
    expect(config.default.choice).toEqual({ strategy: { type: 'expected-work', parameters: {} } });
    expect(config.routingHeaderAllow).toEqual([]);
  });

  it('gives pools what they do not say themselves from the default', async () => {
    const { config } = await parse(`
default: { strategy: least-load, retryAfterS: 9, saturation: { queueRequests: 3 } }
pools:
  team/llama: { strategy: { type: expected-work, parameters: { samples: 4 } } }
  qwen:
    scorers:
      - { type: prefix, weight: 3 }
      - { type: queue }
    pick: weighted-random
`);
    const llama = poolConfigOf(config, 'team/llama');
    expect(llama.choice).toEqual({
      strategy: { type: 'expected-work', parameters: { samples: 4 } },
    });
    expect(llama).toMatchObject({ retryAfterS: 9, saturation: { queueRequests: 3 } });
    // A pool may be named without its namespace.
    const qwen = poolConfigOf(config, 'other/qwen');
    expect(qwen.choice).toEqual({
      scorers: [
        { type: 'prefix', weight: 3, parameters: {} },
        { type: 'queue', weight: 1, parameters: {} },
      ],
      pick: { type: 'weighted-random', parameters: {} },
    });
    expect(poolConfigOf(config, 'x/y').choice).toEqual({
      strategy: { type: 'least-load', parameters: {} },
    });
  });

  it('is refused with all its faults at once, each with its line', async () => {
    const problems = await problemsOf(`
default:
  strategy: least-lod
  filters:
    - type: label
      parameters: { lable: zone }
pools:
  a:
    strategy: random
    pick: max-score
  b:
    scorers:
      - { type: queue, weight: 1 }
      - { type: quue, weight: 1 }
routingHeader:
  allow: [random, nonsense]
extensions:
  - module: ./missing.mjs
`);
    const lines = problems.map((problem) => Number(problem.split(':')[1]));
    expect(problems.every((problem) => problem.startsWith('strategy.yaml:'))).toBe(true);
    expect([...new Set(lines)]).toEqual([3, 6, 9, 14, 16, 18]);
    expect(problems[0]).toContain('unknown strategy "least-lod"; known: expected-work, least-kv');
    expect(problems.at(-1)).toContain('missing.mjs');
  });

  it('names the line of wrong types, unknown fields and broken YAML', async () => {
    expect(await problemsOf('default:\n  strategy: random\n  fallbacks: many\n')).toEqual([
      expect.stringMatching(/^strategy\.yaml:3: default\.fallbacks: /),
    ]);
    expect(await problemsOf('default:\n  strategie: random\n')).toEqual([
      'strategy.yaml:2: default.strategie: unknown field',
    ]);
    expect((await problemsOf('default:\n  strategy: [random\n'))[0]).toMatch(/^strategy\.yaml:\d/);
  });

  it('that is anything else is refused with the typed error only', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json()), async (text) => {
        const problems = await problemsOf(text);
        for (const problem of problems) expect(problem).toMatch(/^strategy\.yaml:\d+: /);
      }),
      { numRuns: 100 },
    );
  });

  it('may use the parts of a module, and is refused when the module is broken', async () => {
    await writeFile(
      join(directory, 'own.mjs'),
      `export default { kind: 'scorer', name: 'own', create: () => ({ score() {} }) };`,
    );
    await writeFile(join(directory, 'broken.mjs'), 'export default { kind: "scorer" };');
    const { config } = await parse(
      'extensions: [{ module: own.mjs }]\ndefault: { scorers: [{ type: own }] }\n',
    );
    expect(config.extensions[0]?.module).toBe(join(directory, 'own.mjs'));
    const [problem] = await problemsOf('extensions:\n  - module: broken.mjs\n');
    expect(problem).toMatch(/^strategy\.yaml:2: .*broken\.mjs cannot be used: name must match/);
  });
});

describe('a strategy named without a file', () => {
  it.each(Object.keys(catalog.strategies))('may be %s', async (name) => {
    const { choice } = (await configForStrategy(name)).default;
    expect(choice).toEqual({ strategy: { type: name, parameters: {} } });
  });

  it('must be a known one', async () => {
    expect((await configForStrategy('random', 700)).default.staleAfterMs).toBe(700);
    await expect(configForStrategy('fastest')).rejects.toThrow(/unknown strategy "fastest"; known/);
  });
});
