/** The fleet's result as a table for people. */

type Fields = Record<string, unknown>;

/** Prints every field, one line each; nested ones in one line. */
export function printFleet(result: Fields): void {
  for (const [name, value] of Object.entries(result)) {
    process.stdout.write(`${name.padEnd(22)} ${textOf(value)}\n`);
  }
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join('; ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${textOf(inner)}`)
    .join(', ');
}
