/**
 * Finds out from a page whose engine served it: the profile with the most different sample names
 * on it that are its own. Of equal ones the first in the list is taken, where custom mappings
 * stand before ours.
 *
 * A name counts only if it says whose it is. One that several engines have says nothing; one that
 * other programs may well have (without any engine's prefix) counts only in a series with the
 * labels that the profile names as proof. A page without such evidence stays unknown: numbers read
 * by the rules of the wrong engine look sound and are not.
 */
import { FamilyNames } from '../exposition/family-names.ts';
import { LabelCursor } from '../exposition/label-cursor.ts';
import { parsePage } from '../exposition/parse.ts';
import { Samples } from '../exposition/samples.ts';
import type { CompiledProfile } from './compile.ts';

const cursor = new LabelCursor();

export class EngineDetector {
  readonly #profiles: readonly CompiledProfile[];
  readonly #names: FamilyNames;
  /** By index of the name: indices of the profiles that it speaks for. */
  readonly #owners: readonly (readonly number[])[];

  /** The first `customs` of the profiles are custom mappings: what they name is meant. */
  constructor(profiles: readonly CompiledProfile[], customs = 0) {
    this.#profiles = profiles;
    const unique = [...new Set(profiles.flatMap(({ names }) => names.names))];
    this.#names = new FamilyNames(unique);
    this.#owners = unique.map((name) => {
      const owners = profiles.flatMap(({ names }, at) => (names.names.includes(name) ? [at] : []));
      return owners.length === 1 ? owners : owners.filter((at) => at < customs);
    });
  }

  /** The profile of the engine that served `page`; `undefined` when nothing proves one. */
  detect(page: Uint8Array): CompiledProfile | undefined {
    const samples = new Samples();
    parsePage(page, this.#names, samples);
    const found = this.#profiles.map(() => new Set<number>());
    for (let i = 0; i < samples.count; i++) {
      const name = samples.name[i] as number;
      for (const owner of this.#owners[name] ?? []) {
        if (this.#proves(owner, name, samples, i)) found[owner]?.add(name);
      }
    }
    const best = Math.max(0, ...found.map(({ size }) => size));
    return best === 0 ? undefined : this.#profiles[found.findIndex(({ size }) => size === best)];
  }

  #proves(owner: number, name: number, samples: Samples, i: number): boolean {
    const proof = this.#profiles[owner]?.proofs.get(this.#names.names[name] ?? '') ?? [];
    const set = samples.set[i] as number;
    return proof.every(
      ([key, value]) => cursor.seek(samples, set, key) && cursor.value() === value,
    );
  }
}
