import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRig, endpointsOf, tally } from '../../fixture/scheduler-rig.ts';
import { partsOf } from './extension-parts.ts';
import { describeExtension, ExtensionError, loadExtension } from './load-extension.ts';

const page = new URL('../../../../../docs/extending.md', import.meta.url);
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'leadsman-extension-'));
});
afterAll(() => rm(directory, { recursive: true }));

/** The only code block of a language on the page. */
async function blockOf(language: string): Promise<string> {
  const text = await readFile(page, 'utf8');
  const blocks = [...text.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))];
  expect(blocks.length).toBe(1);
  return blocks[0]![1]!;
}

describe('the example of docs/extending.md', () => {
  it('works as the page says', async () => {
    await writeFile(join(directory, 'same-zone.mjs'), await blockOf('js'));
    const config = await blockOf('yaml');
    const endpoints = endpointsOf(4, (i) => ({ labels: { zone: i < 2 ? 'a' : 'b' } }));
    const rig = await createRig({ config, endpoints, directory });
    const inZone = { header: (name: string) => (name === 'x-client-zone' ? 'b' : undefined) };
    const first = Array.from({ length: 2 }, () => rig.pick(inZone));
    expect([...tally(first).keys()].sort()).toEqual(['10.0.0.2:8000', '10.0.0.3:8000']);
    // Ten more: the other zone is idle by now, and load outweighs the zone.
    const later = Array.from({ length: 10 }, () => rig.pick(inZone));
    expect([...tally(later).keys()].length).toBe(4);
    const anywhere = Array.from({ length: 20 }, () => rig.pick());
    expect(tally(anywhere).size).toBe(4);
  });
});

describe('a part that fails', () => {
  const throwing = `
export default [
  { kind: 'scorer', name: 'bad-scorer', create: () => ({ score() { throw new Error('oh'); } }) },
  { kind: 'filter', name: 'bad-filter', create: () => ({
    filter(context, candidates) { candidates[0] = 99; return 1; } }) },
  { kind: 'pick', name: 'bad-pick', create: () => ({ choose: () => 7 }) },
];`;
  const config = `
extensions: [{ module: bad.mjs }]
default:
  filters: [{ type: bad-filter }]
  scorers: [{ type: bad-scorer }, { type: in-flight }]
  pick: bad-pick
`;

  it('is switched off for the pool, told once, and the request is served', async () => {
    await writeFile(join(directory, 'bad.mjs'), throwing);
    const faults: string[] = [];
    const endpoints = endpointsOf(3);
    const rig = await createRig({
      config,
      endpoints,
      directory,
      onFault: (pool, part, error) => faults.push(`${pool} ${part} ${(error as Error).message}`),
    });
    const picks = tally(Array.from({ length: 9 }, () => rig.pick()));
    expect([...picks.values()]).toEqual([3, 3, 3]);
    expect(faults).toEqual([
      'test/pool bad-filter kept a candidate that does not exist: 99',
      'test/pool bad-scorer oh',
      'test/pool bad-pick chose 7 of 3 candidates',
    ]);
  });
});

describe('a module that cannot be used', () => {
  it.each([
    ['exports nothing', '', 'must be an extension'],
    ['has a syntax error', 'export default {', 'cannot be used'],
    ['has an unknown kind', 'export default { kind: "scorr", name: "x" }', 'kind must be'],
    ['has a bad name', 'export default { kind: "pick", name: "My Pick" }', 'name must match'],
    [
      'takes a built-in name',
      'export default { kind: "scorer", name: "queue", create() {} }',
      'built-in',
    ],
    ['has no create', 'export default { kind: "scorer", name: "x" }', 'no create function'],
    ['exports an empty list', 'export default []', 'empty list'],
  ])('%s: the error names it', async (name, text, message) => {
    const path = join(directory, `${name.replaceAll(' ', '-')}.mjs`);
    await writeFile(path, text);
    const loading = loadExtension(await describeExtension(path));
    await expect(loading).rejects.toThrow(ExtensionError);
    await expect(loading).rejects.toThrow(path);
    await expect(loading).rejects.toThrow(message);
  });

  it('or is not there', async () => {
    await expect(describeExtension(join(directory, 'none.mjs'))).rejects.toThrow('none.mjs');
  });

  it('or makes nothing: told when the configuration is checked', () => {
    const parts = partsOf({ kind: 'scorer', name: 'empty', create: () => ({}) });
    expect(() => parts.scorers.empty!.check({})).toThrow('made nothing with score');
  });
});

describe('a module that was changed', () => {
  it('is loaded anew', async () => {
    const path = join(directory, 'changing.mjs');
    const text = (name: string): string =>
      `export default { kind: 'pick', name: '${name}', create: () => ({ choose: () => 0 }) };`;
    await writeFile(path, text('before'));
    const before = await loadExtension(await describeExtension(path));
    await writeFile(path, text('after'));
    const after = await loadExtension(await describeExtension(path));
    expect([Object.keys(before.picks), Object.keys(after.picks)]).toEqual([['before'], ['after']]);
  });
});
