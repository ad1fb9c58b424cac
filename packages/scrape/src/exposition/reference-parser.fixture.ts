/** A slow, obvious parser of the text format, for tests to compare with. */

export interface ReferenceSample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const line =
  /^[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?[ \t]+(\S+)(?:[ \t]+(-?\d+(?:\.\d+)?))?[ \t]*(?:#.*)?\r?$/;
const label = /[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*,?/gy;

/** The samples of `page` whose names are in `names`, in order. */
export function referenceParse(page: string, names: readonly string[]): ReferenceSample[] {
  const samples: ReferenceSample[] = [];
  for (const text of page.split('\n')) {
    const match = line.exec(text);
    if (match === null || !names.includes(match[1] ?? '')) continue;
    const labels: Record<string, string> = {};
    label.lastIndex = 0;
    for (const [, key = '', value = ''] of (match[2] ?? '').matchAll(label)) {
      labels[key] = value.replaceAll(/\\(n|"|\\)/g, (_, c) => (c === 'n' ? '\n' : c));
    }
    samples.push({ name: match[1] ?? '', labels, value: numberOf(match[3] ?? '') });
  }
  return samples;
}

function numberOf(text: string): number {
  const special = /^([+-]?)(inf|nan)$/i.exec(text);
  if (special === null) return Number(text);
  if (special[2]?.toLowerCase() === 'nan') return Number.NaN;
  return special[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}
