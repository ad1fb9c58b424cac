/**
 * Rules of the house that no linter knows: the size of files, the direction of imports, circles,
 * dead document links, what nobody uses, and calls that have a replacement here. Prints each breach, ends with 1.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { tableBreaches } from './tidy/package-table.ts';
import { breachesOf } from './tidy/rules.ts';
import { circlesOf, folderGraph, sourceGraph } from './tidy/source-graph.ts';
import { unusedBreaches } from './tidy/unused.ts';

/**
 * What each package may import of ours, from the bottom up: a package names only packages above
 * its own line, so the graph of packages has no arrow that runs back.
 */
const mayImport: Record<string, readonly string[]> = {
  wire: [],
  service: [],
  kube: ['service'],
  view: ['wire'],
  scrape: ['wire', 'service'],
  link: ['wire', 'service', 'kube'],
  sidecar: ['wire', 'service', 'link', 'scrape', 'view'],
  'node-agent': ['wire', 'service', 'link', 'scrape', 'kube'],
  collector: ['wire', 'service', 'link', 'view', 'kube'],
  scheduling: ['wire', 'service', 'link', 'view'],
  'ext-proc': ['wire', 'service', 'scheduling'],
  picker: ['wire', 'service', 'link', 'view', 'collector', 'kube', 'scheduling', 'ext-proc'],
  injector: ['wire', 'service', 'kube'],
  cli: ['wire', 'service', 'scrape', 'view', 'injector', 'kube'],
};

const paths = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(file));
const read = (path: string) => ({ path, text: readFileSync(path, 'utf8') });
const sources = paths.filter((path) => path.endsWith('.ts')).map(read);
const graph = sourceGraph(sources);
const breaches = [
  ...sources.flatMap(breachesOf),
  ...directionBreaches(),
  ...circlesOf(graph.files).map((circle) => `files import each other: ${circle.join(', ')}`),
  ...circlesOf(folderGraph(graph.files)).map(
    (circle) => `folders import each other: ${circle.join(', ')}`,
  ),
  ...tableBreaches(readFileSync('ARCHITECTURE.md', 'utf8'), graph.packages),
  ...unusedBreaches(),
  ...paths.filter((path) => path.endsWith('.md')).flatMap((path) => deadLinks(read(path))),
];

process.stdout.write(breaches.map((breach) => `${breach}\n`).join(''));
process.stdout.write(`tidy: ${paths.length} files, ${breaches.length} breaches\n`);
process.exit(breaches.length === 0 ? 0 : 1);

function directionBreaches(): string[] {
  const found: string[] = [];
  const order = Object.keys(mayImport);
  for (const [owner, imported] of graph.packages) {
    for (const other of imported) {
      if (!(mayImport[owner] ?? []).includes(other))
        found.push(`${owner} must not import ${other}`);
    }
    for (const other of mayImport[owner] ?? []) {
      if (order.indexOf(other) > order.indexOf(owner))
        found.push(`tidy: ${other} is above ${owner}`);
    }
  }
  // The exchange takes a scheduler through its interface, and knows nothing else of scheduling.
  for (const [file, targets] of graph.files) {
    if (!file.startsWith('packages/ext-proc/')) continue;
    for (const target of targets) {
      if (/^packages\/scheduling\/src\/.*\//.test(target)) {
        found.push(`${file}: ext-proc knows the scheduler's interface only, not ${target}`);
      }
    }
  }
  return found;
}

function deadLinks({ path, text }: { path: string; text: string }): string[] {
  const dead: string[] = [];
  for (const match of text.matchAll(/\]\(([^)\s#]+)(#[^)]*)?\)/g)) {
    const target = match[1] ?? '';
    if (/^[a-z]+:/.test(target)) continue;
    const linked = normalize(join(dirname(path), target));
    if (!existsSync(linked)) dead.push(`${path}: dead link ${target}`);
  }
  return dead;
}
