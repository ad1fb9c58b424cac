/** The table of listeners in docs/security.md names every listener of every process, with its defaults. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { collectorConfigShape } from '@leadsman/collector';
import { injectorConfigShape } from '@leadsman/injector/config';
import { nodeAgentConfigShape } from '@leadsman/node-agent';
import { pickerConfigShape } from '@leadsman/picker';
import { sidecarConfigShape } from '@leadsman/sidecar';
import { describe, expect, it } from 'vitest';

interface Field {
  parse(value: undefined): unknown;
}
const shapes: Record<string, Record<string, Field>> = {
  picker: pickerConfigShape.shape,
  collector: collectorConfigShape.shape,
  'node-agent': nodeAgentConfigShape.shape,
  injector: injectorConfigShape.shape,
  sidecar: sidecarConfigShape.shape,
};

/** Options of such names that say where somebody else listens. */
const ofOthers = new Set(['engineHost', 'agentPort', 'scrapePort']);

const flagOf = (option: string) =>
  `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

async function documented(process: string): Promise<Map<string, string>> {
  const page = fileURLToPath(new URL('../../docs/security.md', import.meta.url));
  const text = await readFile(page, 'utf8');
  const found = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (!line.startsWith(`| ${process} |`)) continue;
    for (const [, flag = '', value = ''] of line.matchAll(/`(--[a-z-]+)` `([^`]*)`/g)) {
      expect(found.get(flag) ?? value, `${process} ${flag} is told twice`).toBe(value);
      found.set(flag, value);
    }
  }
  return found;
}

describe('the listeners of', () => {
  it.each(Object.entries(shapes))(
    'the %s are told, with their defaults',
    async (process, shape) => {
      const listeners = Object.keys(shape).filter(
        (option) => /(Host|Port)$/.test(option) && !ofOthers.has(option),
      );
      expect(listeners.length).toBeGreaterThanOrEqual(2);
      const expected = listeners.map(
        (option) => [flagOf(option), String(shape[option]?.parse(undefined))] as const,
      );
      expect(await documented(process)).toEqual(new Map(expected));
    },
  );
});
