/**
 * Which series an engine is asked for by name: those of its profile that the whole page has, and
 * those of which it has the family's head but no sample yet (a queue's reason that has not occurred,
 * adapters before the first of them). What the page does not know at all is not asked for, as each
 * name makes the request longer, and with it the line that the engine's web server logs.
 */
import type { CompiledProfile } from '../engine/compile.ts';
import type { Samples } from '../exposition/samples.ts';

/**
 * The profile's sample names on the page that `samples` was parsed from, in the profile's order.
 * Reads the page's heads once per name that has no sample: not for every scrape.
 */
export function namesOnPage(compiled: CompiledProfile, samples: Samples): string[] {
  const { names } = compiled.names;
  const found = new Uint8Array(names.length);
  for (let i = 0; i < samples.count; i++) found[samples.name[i] as number] = 1;
  return names.filter((name, i) => found[i] === 1 || hasHead(samples.bytes, name));
}

/** Whether the page has the TYPE line of the family that a sample called `name` belongs to. */
function hasHead(page: Buffer, name: string): boolean {
  if (page.includes(`# TYPE ${name} `)) return true;
  const family = name.replace(/_(?:sum|count|total)$/, '');
  return family !== name && page.includes(`# TYPE ${family} `);
}
