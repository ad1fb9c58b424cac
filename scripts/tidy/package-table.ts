/**
 * The table of packages in ARCHITECTURE.md, held against what the sources import. `wire` and
 * `service` may be imported by everybody and are not listed.
 */
import type { Graph } from './source-graph.ts';

const everybodys = new Set(['wire', 'service']);

/** What each row of the table says that the sources do not, and the other way round. */
export function tableBreaches(architecture: string, packages: Graph['packages']): string[] {
  const breaches: string[] = [];
  const rows = new Map<string, Set<string>>();
  for (const [, name, imports] of architecture.matchAll(
    /^\| `packages\/([a-z-]+)` \|[^|]*\| ([^|]*) \|$/gm,
  )) {
    const listed = imports === 'none' ? [] : imports!.split(',').map((item) => item.trim());
    rows.set(name!, new Set(listed));
  }
  for (const [name, imported] of packages) {
    const row = rows.get(name);
    if (row === undefined) {
      breaches.push(`ARCHITECTURE.md: the table of packages lacks packages/${name}`);
      continue;
    }
    const real = new Set([...imported].filter((other) => !everybodys.has(other)));
    for (const other of real.difference(row)) {
      breaches.push(`ARCHITECTURE.md: packages/${name} imports ${other}, which its row lacks`);
    }
    for (const other of row.difference(real)) {
      breaches.push(`ARCHITECTURE.md: packages/${name} does not import ${other}, as its row says`);
    }
  }
  return breaches;
}
