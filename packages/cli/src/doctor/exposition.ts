/** A metrics page of one of our processes, for reading single numbers. Not for engines' pages. */
export interface Series {
  labels: Readonly<Record<string, string>>;
  value: number;
}

export class MetricsPage {
  readonly #families = new Map<string, Series[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
      if (match === null) continue;
      const [, name, labels = '', value] = match;
      const series = this.#families.get(name!) ?? [];
      series.push({ labels: labelsOf(labels), value: Number(value) });
      this.#families.set(name!, series);
    }
  }

  has(name: string): boolean {
    return this.#families.has(name);
  }

  all(name: string): readonly Series[] {
    return this.#families.get(name) ?? [];
  }

  /** The sum over the series of this name with these labels; NaN where there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number {
    const found = this.all(name).filter((series) =>
      Object.entries(labels).every(([label, value]) => series.labels[label] === value),
    );
    return found.length === 0 ? Number.NaN : found.reduce((sum, { value }) => sum + value, 0);
  }
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name!] = value!.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
  }
  return labels;
}
