/** The parts that one module brings, by name, in the form of the catalog; all checked. */

import type { Choice, Filter, Scorer } from '../parts/part.ts';
import * as catalog from '../policy/catalog.ts';
import type { Extension } from './extension.ts';

export interface ExtensionParts {
  readonly filters: Readonly<Record<string, catalog.Kind<Filter>>>;
  readonly scorers: Readonly<Record<string, catalog.Kind<Scorer>>>;
  readonly picks: Readonly<Record<string, catalog.Kind<Choice>>>;
}

/** The method each kind of part must have. */
const methods = { filter: 'filter', scorer: 'score', pick: 'choose' } as const;
const builtIn = { filter: catalog.filters, scorer: catalog.scorers, pick: catalog.picks } as const;
const namePattern = /^[a-z0-9][a-z0-9.-]{0,63}$/;

/** Reads a module's default export. Throws an Error that says what is wrong with it. */
export function partsOf(exported: unknown): ExtensionParts {
  const parts = { filters: {}, scorers: {}, picks: {} } as {
    filters: Record<string, catalog.Kind<Filter>>;
    scorers: Record<string, catalog.Kind<Scorer>>;
    picks: Record<string, catalog.Kind<Choice>>;
  };
  const list = Array.isArray(exported) ? exported : [exported];
  if (list.length === 0) throw new Error('its default export is an empty list');
  for (const entry of list) {
    const extension = checkExtension(entry);
    if (extension.kind === 'filter') parts.filters[extension.name] = kindOf<Filter>(extension);
    else if (extension.kind === 'scorer') {
      parts.scorers[extension.name] = kindOf<Scorer>(extension);
    } else parts.picks[extension.name] = kindOf<Choice>(extension);
  }
  return parts;
}

function checkExtension(entry: unknown): Extension {
  if (typeof entry !== 'object' || entry === null) {
    throw new Error('its default export must be an extension or a list of extensions');
  }
  const { kind, name, create } = entry as Partial<Extension>;
  if (kind !== 'filter' && kind !== 'scorer' && kind !== 'pick') {
    throw new Error(`kind must be filter, scorer or pick, not ${JSON.stringify(kind)}`);
  }
  if (typeof name !== 'string' || !namePattern.test(name)) {
    throw new Error(`name must match ${namePattern}, not ${JSON.stringify(name)}`);
  }
  if (Object.hasOwn(builtIn[kind], name)) throw new Error(`there is a built-in ${kind} "${name}"`);
  if (typeof create !== 'function') throw new Error(`${kind} "${name}" has no create function`);
  return entry as Extension;
}

function kindOf<Part>(extension: Extension): catalog.Kind<Part> {
  const method = methods[extension.kind];
  const create = (parameters: unknown): Part => {
    const part: unknown = extension.create(parameters as Record<string, unknown>);
    if (typeof (part as Record<string, unknown> | null)?.[method] !== 'function') {
      throw new Error(
        `create of ${extension.kind} "${extension.name}" made nothing with ${method}`,
      );
    }
    return part as Part;
  };
  return {
    create,
    check: (parameters) => {
      extension.check?.(parameters as Record<string, unknown>);
      create(parameters);
    },
  };
}
