/**
 * From the bytes of a page to a reading. One per process: its scratch memory is shared by all
 * targets, as reading a page is one synchronous step.
 */
import { reason } from '@leadsman/wire';
import { namesOnPage } from './by-name/names.ts';
import type { PageShape } from './by-name/page-shape.ts';
import { type CompiledProfile, compileProfile } from './engine/compile.ts';
import { EngineDetector } from './engine/detect.ts';
import { evaluate } from './engine/evaluate.ts';
import { type NearEngine, nearEngines } from './engine/near.ts';
import type { EngineProfile } from './engine/profile.ts';
import { engineProfiles } from './engine/profiles.ts';
import type { PageOutcome } from './engine/reading.ts';
import { type Explanation, explainPage } from './explain.ts';
import { isExposition } from './exposition/is-exposition.ts';
import { parsePage } from './exposition/parse.ts';
import { Samples } from './exposition/samples.ts';

export class PageReader {
  readonly #samples = new Samples();
  readonly #compiled = new Map<string, CompiledProfile>();
  readonly #profiles: readonly EngineProfile[];
  readonly #customs: number;
  #detector: EngineDetector | undefined;

  /** `custom` profiles are known by name beside the built-in ones, and win over them. */
  constructor(custom: readonly EngineProfile[] = []) {
    this.#customs = custom.length;
    const names = custom.map(({ name }) => name);
    this.#profiles = [...custom, ...engineProfiles.filter(({ name }) => !names.includes(name))];
  }

  get engineNames(): readonly string[] {
    return this.#profiles.map(({ name }) => name);
  }

  profile(name: string): EngineProfile | undefined {
    return this.#profiles.find((profile) => profile.name === name);
  }

  /** The engine whose series are on `page`, or `undefined`. A second pass: not for every scrape. */
  detect(page: Uint8Array): string | undefined {
    this.#detector ??= new EngineDetector(this.#allCompiled(), this.#customs);
    return this.#detector.detect(page)?.profile.name;
  }

  /** Engines that a page on which none is detected comes close to, best first. For people. */
  near(page: Uint8Array): NearEngine[] {
    return nearEngines(page, this.#allCompiled(), (engine) => this.parse(page, engine));
  }

  /**
   * Reads `page` as one of the engine called `engine`. Never throws on any bytes; an engine that
   * is not known throws RangeError. `page` may be reused as soon as this returns.
   */
  read(page: Uint8Array, engine: string): PageOutcome {
    const compiled = this.#profileOf(engine);
    parsePage(page, compiled.names, this.#samples);
    const samples = this.#samples;
    if (samples.count > 0) return { reading: evaluate(compiled, samples) };
    if (samples.lost.some((why) => why !== 0)) {
      return { reason: reason.parse, detail: 'lines of wanted series cannot be read' };
    }
    if (isExposition(samples.bytes)) {
      return { reason: reason.noSeries, detail: `no series of ${compiled.profile.title}` };
    }
    return { reason: reason.parse, detail: 'the page is no exposition text' };
  }

  /** The first half of {@link read}: how many wanted samples `page` has. */
  parse(page: Uint8Array, engine: string): number {
    parsePage(page, this.#profileOf(engine).names, this.#samples);
    return this.#samples.count;
  }

  /** Puts the shape of the page that was read last into `into`. */
  readShape(engine: string, into: PageShape): void {
    into.read(this.#samples, this.#profileOf(engine).names);
  }

  /** The profile's names that the page read last has. Not for every scrape; needs its bytes. */
  namesOnPage(engine: string): string[] {
    return namesOnPage(this.#profileOf(engine), this.#samples);
  }

  /** The sample name with this index among those of `engine`. */
  nameAt(engine: string, index: number): string {
    return this.#profileOf(engine).names.names[index] ?? '';
  }

  /** {@link read}, with all that a person wants to know about how it came out. Allocates. */
  explain(page: Uint8Array, engine: string): Explanation {
    const outcome = this.read(page, engine);
    return explainPage(this.#profileOf(engine), this.#samples, outcome);
  }

  #allCompiled(): CompiledProfile[] {
    return this.#profiles.map(({ name }) => this.#profileOf(name));
  }

  #profileOf(name: string): CompiledProfile {
    const known = this.#compiled.get(name);
    if (known !== undefined) return known;
    const profile = this.profile(name);
    if (profile === undefined) throw new RangeError(`unknown engine: ${name}`);
    const compiled = compileProfile(profile);
    this.#compiled.set(name, compiled);
    return compiled;
  }
}
