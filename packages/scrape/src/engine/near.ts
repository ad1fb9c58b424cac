/**
 * Engines to which a page of unknown origin comes close: those whose names are on it with another
 * prefix, without one, or declared but without a sample. A hint for people, who may then name the
 * engine; never a ground to read a page by.
 *
 * Cost: a regular expression over the page, so for `explain` only, not for a scrape.
 */
import { sampleSuffixes } from '../exposition/family-names.ts';
import type { CompiledProfile } from './compile.ts';

export interface NearEngine {
  engine: string;
  title: string;
  /** Names on the page that are like the engine's, in the order of the page. */
  families: readonly string[];
  /** Series that are read when the page is said to be this engine's. */
  readable: number;
}

const pageBytesMax = 4 * 1_048_576;
/** Different names looked at; pages of engines have some two hundred. */
const namesMax = 4_096;

/** A sample's name, or the family of a HELP or TYPE line, at the beginning of a line. */
const lineName = /^(?:# (?:HELP|TYPE) )?([a-zA-Z_:][a-zA-Z0-9_:]*)(?=[{ \t])/gm;

/** By profile, best first; those without any name alike are left out. */
export function nearEngines(
  page: Uint8Array,
  profiles: readonly CompiledProfile[],
  readableBy: (engine: string) => number,
): NearEngine[] {
  const onPage = namesOf(page);
  const near = profiles.map((compiled) => {
    const stems = stemsOf(compiled);
    const { name, title } = compiled.profile;
    const families = onPage.filter((one) => tailsOf(one).some((tail) => stems.has(tail)));
    return { engine: name, title, families, readable: families.length && readableBy(name) };
  });
  return near
    .filter(({ families }) => families.length > 0)
    .sort((a, b) => b.readable - a.readable || b.families.length - a.families.length);
}

/** The profile's names without its prefix: what is left when another program renames them. */
export function stemsOf({ profile, names }: CompiledProfile): ReadonlySet<string> {
  const prefixes = [profile.prefix ?? '', ...(profile.aliases ?? []).map(([, other]) => other)];
  const stems = new Set<string>();
  for (const name of names.names) {
    const prefix = prefixes.find((one) => one !== '' && name.startsWith(one)) ?? '';
    const stem = name.slice(prefix.length);
    stems.add(stem);
    // What HELP and TYPE lines name is the family.
    for (const suffix of sampleSuffixes) {
      if (stem.endsWith(suffix)) stems.add(stem.slice(0, -suffix.length));
    }
  }
  return stems;
}

function namesOf(page: Uint8Array): string[] {
  const length = Math.min(page.length, pageBytesMax);
  const text = Buffer.from(page.buffer, page.byteOffset, length).toString('latin1');
  const names = new Set<string>();
  for (const match of text.matchAll(lineName)) {
    if (match[1] !== undefined && match[1] !== '#') names.add(match[1]);
    if (names.size === namesMax) break;
  }
  return [...names];
}

/** The name, and what is left of it behind its first and second separator. */
function tailsOf(name: string): string[] {
  const tails = [name];
  let at = 0;
  for (let cut = 0; cut < 2; cut++) {
    at = name.slice(at).search(/[:_]/) + at + 1;
    if (at === 0 || at >= name.length || tails.at(-1) === name.slice(at)) break;
    tails.push(name.slice(at));
  }
  return tails;
}
