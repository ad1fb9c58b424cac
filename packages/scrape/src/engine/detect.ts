/**
 * Finds out from a page whose engine served it: the profile with the most different sample names
 * on it. Of equal ones the first in the list is taken, where custom mappings stand before ours.
 */
import { FamilyNames } from '../exposition/family-names.ts';
import { parsePage } from '../exposition/parse.ts';
import { Samples } from '../exposition/samples.ts';
import type { CompiledProfile } from './compile.ts';

export class EngineDetector {
  readonly #profiles: readonly CompiledProfile[];
  readonly #names: FamilyNames;
  /** By index of the name: indices of the profiles that have it. */
  readonly #owners: readonly (readonly number[])[];

  constructor(profiles: readonly CompiledProfile[]) {
    this.#profiles = profiles;
    const unique = [...new Set(profiles.flatMap(({ names }) => names.names))];
    this.#names = new FamilyNames(unique);
    this.#owners = unique.map((name) =>
      profiles.flatMap(({ names }, index) => (names.names.includes(name) ? [index] : [])),
    );
  }

  /** The profile of the engine that served `page`; `undefined` when it has no known series. */
  detect(page: Uint8Array): CompiledProfile | undefined {
    const samples = new Samples();
    parsePage(page, this.#names, samples);
    const found = new Set(samples.name.subarray(0, samples.count));
    const score = this.#profiles.map(() => 0);
    for (const name of found) {
      for (const owner of this.#owners[name] ?? []) score[owner] = (score[owner] ?? 0) + 1;
    }
    const best = Math.max(0, ...score);
    return best === 0 ? undefined : this.#profiles[score.indexOf(best)];
  }
}
