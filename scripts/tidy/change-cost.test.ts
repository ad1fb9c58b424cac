/**
 * The table "What a change touches" of CONTRIBUTING.md, as far as the sources can tell: how many
 * files know of the newest of each kind.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { sourceGraph, testSupport } from './source-graph.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const paths = execFileSync('git', ['ls-files', '-co', '--exclude-standard', 'packages'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path.endsWith('.ts'));
const sources = paths.map((path) => ({ path, text: readFileSync(`${root}${path}`, 'utf8') }));
const shipped = sources.filter(
  ({ path }) => !testSupport.test(path) && !path.startsWith('packages/testing/'),
);
const { files } = sourceGraph(sources);

/** Files that import `path`, without the package's path before them. */
function importersOf(path: string): string[] {
  return [...files].flatMap(([file, targets]) => (targets.has(path) ? [file] : []));
}

const filesIn = (folder: string, pattern: RegExp) =>
  [...files.keys()].filter((path) => path.startsWith(folder) && pattern.test(path));

it('an engine is its table and a line', () => {
  const engines = shipped.filter(
    ({ path, text }) =>
      path.startsWith('packages/scrape/src/engine/') &&
      /export const \w+: EngineProfile/.test(text),
  );
  expect(engines.length).toBeGreaterThanOrEqual(7);
  for (const { path } of engines) {
    expect(importersOf(path), path).toEqual(['packages/scrape/src/engine/profiles.ts']);
  }
});

it('a filter, scorer, pick or strategy is its file and a line of the catalogue', () => {
  const parts = 'packages/scheduling/src/worker/parts/';
  const named = filesIn(parts, /\/(filter|scorer|pick|strategy)\/[a-z-]+\.ts$/);
  expect(named.length).toBeGreaterThan(15);
  for (const path of named) {
    // Strategies may be made of other parts; nothing else may know one.
    const others = importersOf(path).filter((file) => !file.startsWith(parts));
    const support = /\/(keep|fresh|subset|max-score|spread)\.ts$/.test(path);
    if (!support)
      expect(others, path).toEqual(['packages/scheduling/src/worker/policy/catalog.ts']);
  }
});

it('a number on the wire is a line, and who knows it', () => {
  const text = readFileSync(`${root}packages/wire/src/metric.ts`, 'utf8');
  const newest = [...text.matchAll(/^ {2}(\w+): \d+,$/gm)].slice(-4).map(([, name]) => name!);
  for (const name of newest.filter((one) => one !== 'kvCapacityTokens' && one !== 'runningMax')) {
    const knowing = shipped.filter((source) => new RegExp(`\\b${name}\\b`).test(source.text));
    expect(knowing.map(({ path }) => path).length, name).toBeLessThanOrEqual(3);
  }
});

it('a header of the exchange stands in one table', () => {
  const header = /'(?:x|content|transfer|accept|retry)-[a-z-]+'/;
  const knowing = shipped.filter(
    ({ path, text }) =>
      /^packages\/ext-proc\/src\/(exchange\/.*|[a-z-]+\.ts$)/.test(path) && header.test(text),
  );
  // The key of gRPC metadata by which a gateway names a pool is no header of a request.
  const tables = ['packages/ext-proc/src/headers.ts', 'packages/ext-proc/src/pool-selector.ts'];
  expect(knowing.map(({ path }) => path)).toEqual(tables);
});

it('a body mode is known by name to its table, and to the flag of the picker', () => {
  const code = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
  const knowing = shipped.filter(({ text }) =>
    /BodyMode\.fullDuplex\b|'full_duplex/.test(code(text)),
  );
  expect(knowing.map(({ path }) => path).length).toBeLessThanOrEqual(3);
});

it('a command of the tool is its file and a line of main.ts', () => {
  const commands = shipped.filter(({ text }) => /new Command\('/.test(text));
  for (const { path } of commands.filter((one) => /\/commands\/[a-z-]+\.ts$/.test(one.path))) {
    expect(importersOf(path), path).toEqual(['packages/cli/src/main.ts']);
  }
  expect(commands.length).toBeGreaterThanOrEqual(3);
});
