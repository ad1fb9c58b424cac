/**
 * Who imports whom, read from the sources as text: every `from '…'` and `import '…'` of the code
 * that ships. Tests, fixtures and the testing package are no part of it.
 */
import { dirname, join, normalize } from 'node:path';

/** Support of tests beside the code: fixtures, harnesses, samples, threads of tests. */
export const testSupport =
  /\.test\.ts$|-harness\.ts$|(^|\/)sample-[a-z-]+\.ts$|\/fixture\/|\.fixture\.ts$|\.worker\.ts$/;

export interface SourceFile {
  path: string;
  text: string;
}

export interface Graph {
  /** File → files of ours that it imports. */
  readonly files: ReadonlyMap<string, ReadonlySet<string>>;
  /** Package → packages of ours that it imports. */
  readonly packages: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The package a path belongs to, '' for none. */
function packageOf(path: string): string {
  return /^packages\/([^/]+)\/src\//.exec(path)?.[1] ?? '';
}

/** Builds the graph of the files that ship. Imports of files that are not there are left out. */
export function sourceGraph(sources: readonly SourceFile[]): Graph {
  const shipped = sources.filter(
    ({ path }) =>
      packageOf(path) !== '' && packageOf(path) !== 'testing' && !testSupport.test(path),
  );
  const known = new Set(shipped.map(({ path }) => path));
  const files = new Map<string, Set<string>>();
  const packages = new Map<string, Set<string>>();
  for (const { path, text } of shipped) {
    const targets = new Set<string>();
    const owner = packageOf(path);
    const owners = packages.get(owner) ?? new Set();
    packages.set(owner, owners);
    for (const specifier of specifiersOf(text)) {
      const imported = /^@leadsman\/([a-z-]+)/.exec(specifier)?.[1];
      if (imported !== undefined && imported !== owner) owners.add(imported);
      const target = resolve(path, specifier);
      if (target !== undefined && known.has(target)) targets.add(target);
    }
    files.set(path, targets);
  }
  return { files, packages };
}

/** The same graph between folders; a package's entry belongs to no folder. */
export function folderGraph(files: Graph['files']): Map<string, Set<string>> {
  const folders = new Map<string, Set<string>>();
  for (const [file, targets] of files) {
    if (isEntry(file)) continue;
    const folder = dirname(file);
    const out = folders.get(folder) ?? new Set<string>();
    folders.set(folder, out);
    for (const target of targets) {
      if (!isEntry(target) && dirname(target) !== folder) out.add(dirname(target));
    }
  }
  return folders;
}

/** Every circle of the graph, as the sorted nodes of one strongly connected component. */
export function circlesOf(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const order = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  for (const node of graph.keys()) if (!order.has(node)) visit(node);
  return circles;

  function visit(node: string): void {
    order.set(node, order.size);
    low.set(node, order.get(node)!);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!order.has(next)) visit(next);
      if (stack.includes(next)) low.set(node, Math.min(low.get(node)!, low.get(next)!));
    }
    if (low.get(node) !== order.get(node)) return;
    const circle = stack.splice(stack.indexOf(node));
    if (circle.length > 1) circles.push(circle.sort());
  }
}

function isEntry(file: string): boolean {
  return /^packages\/[^/]+\/src\/index\.ts$/.test(file);
}

function* specifiersOf(text: string): Generator<string> {
  for (const match of text.matchAll(/(?:\bfrom|\bimport) '([^']+)'|\bimport\('([^']+)'\)/g)) {
    yield match[1] ?? match[2] ?? '';
  }
}

function resolve(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return normalize(join(dirname(from), specifier));
  const match = /^@leadsman\/([a-z-]+)(?:\/(.+))?$/.exec(specifier);
  return match === null ? undefined : `packages/${match[1]}/src/${match[2] ?? 'index'}.ts`;
}
