/** The pages for admins name what there is, and their examples are valid. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import * as catalog from '../../worker/policy/catalog.ts';
import { counterparts } from './plugin-counterparts.ts';
import { parseStrategyFile } from './strategy-file.ts';

async function page(name: string): Promise<string> {
  return readFile(new URL(`../../../../../docs/${name}`, import.meta.url), 'utf8');
}

describe('docs/strategies.md', () => {
  it.each([
    ...Object.keys(catalog.strategies),
    ...Object.keys(catalog.filters),
    ...Object.keys(catalog.scorers),
    ...Object.keys(catalog.picks),
  ])('explains %s', async (name) => {
    expect(await page('strategies.md')).toContain(`\`${name}\``);
  });
});

describe('docs/configuration.md', () => {
  it('has a valid example of all fields', async () => {
    const text = await page('configuration.md');
    const [, yaml] = /```yaml\n([\s\S]*?)```/.exec(text) ?? [];
    const { config } = await parseStrategyFile(yaml ?? '', 'example', async (module) => ({
      config: { module, digest: '' },
      parts: { filters: {}, scorers: {}, picks: {} },
    }));
    const defaults = await parseStrategyFile('', 'empty', async () => ({ problem: '' }));
    // What the page shows as the default is the default.
    expect(config.default).toEqual(defaults.config.default);
    expect(config.prefixIndex).toEqual(defaults.config.prefixIndex);
    expect(config.replicas).toEqual(defaults.config.replicas);
    expect(Object.keys(config.pools)).toEqual(['team-a/llama', 'qwen']);
  });

  it('names every plugin of the Go pickers that is understood', async () => {
    const text = await page('configuration.md');
    for (const name of Object.keys(counterparts)) expect(text).toContain(`\`${name}\``);
  });
});
