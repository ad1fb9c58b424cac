/**
 * What a user's module exports to add a filter, a scorer or a pick (docs/extending.md):
 *
 * ```js
 * /** @type {import('@leadsman/scheduling/worker/extension/extension').Extension} *\/
 * export default { kind: 'scorer', name: 'my-scorer', create: (parameters) => ({ score(…) {…} }) };
 * ```
 */
import type { Choice, Filter, Scorer } from '../parts/part.ts';

interface ExtensionOf<Kind extends string, Part> {
  readonly kind: Kind;
  /** How configurations name the part; must not be that of a built-in part. */
  readonly name: string;
  /** Checks the parameters of a configuration; throws an Error with a message for people. */
  check?(parameters: Readonly<Record<string, unknown>>): void;
  /** Makes an instance. Called once per pool and worker, and again at each reload. */
  create(parameters: Readonly<Record<string, unknown>>): Part;
}

export type FilterExtension = ExtensionOf<'filter', Filter>;
export type ScorerExtension = ExtensionOf<'scorer', Scorer>;
export type PickExtension = ExtensionOf<'pick', Choice>;

/** One part. A module's default export is one of these or a list of them. */
export type Extension = FilterExtension | ScorerExtension | PickExtension;
