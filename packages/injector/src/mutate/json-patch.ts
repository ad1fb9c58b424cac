/**
 * The difference of two JSON documents as an RFC 6902 patch, for results that only add: objects
 * may gain or change members, arrays may gain items at their end. That is all a mutation here
 * does, and it keeps the patch small and free of surprises for webhooks that come after.
 */

export interface PatchOperation {
  readonly op: 'add' | 'replace';
  readonly path: string;
  readonly value: unknown;
}

/** Throws when `after` lost something that `before` had: a mutation must never do that. */
export function additions(before: unknown, after: unknown): PatchOperation[] {
  const operations: PatchOperation[] = [];
  compare(before, after, '', operations);
  return operations;
}

function compare(before: unknown, after: unknown, path: string, into: PatchOperation[]): void {
  if (before === after) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    if (after.length < before.length) throw new Error(`a mutation removed items of ${path}`);
    for (let i = 0; i < after.length; i++) {
      if (i < before.length) compare(before[i], after[i], `${path}/${i}`, into);
      else into.push({ op: 'add', path: `${path}/-`, value: after[i] });
    }
  } else if (isObject(before) && isObject(after)) {
    for (const key of Object.keys(before)) {
      if (!(key in after)) throw new Error(`a mutation removed ${path}/${key}`);
    }
    for (const [key, value] of Object.entries(after)) {
      const at = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (key in before) compare(before[key], value, at, into);
      else into.push({ op: 'add', path: at, value });
    }
  } else into.push({ op: 'replace', path, value: after });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
