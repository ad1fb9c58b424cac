/** The parts of exposition lines that are not numbers. */

/** Label text as vLLM writes it: sorted, as its client library sorts them. */
export function formatLabels(labels: Readonly<Record<string, string>>): string {
  const names = Object.keys(labels).sort();
  if (names.length === 0) return '';
  return `{${names.map((name) => `${name}="${escapeLabel(labels[name]!)}"`).join(',')}}`;
}

/** A histogram's upper bound as label value. */
export function boundText(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound);
}

/** The two comment lines before a family's samples. */
export function familyHead(name: string, type: string, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
