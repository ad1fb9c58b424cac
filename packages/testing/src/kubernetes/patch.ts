/** The two kinds of patch that clients of this project send: RFC 7396 and RFC 6902. */

type Json = Record<string, unknown>;

/** RFC 7396: objects merge, null removes, everything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Json = isPlain(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

/** One step of an RFC 6902 patch. */
export interface PatchStep {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** RFC 6902 with add, replace, remove and test. Throws when a step cannot be done. */
export function jsonPatch(target: unknown, steps: readonly PatchStep[]): unknown {
  const document = structuredClone(target);
  for (const step of steps) {
    const tokens = step.path.split('/').slice(1).map(unescapeToken);
    const last = tokens.pop();
    if (last === undefined) throw new Error('a patch of the whole document is not served');
    let at: unknown = document;
    for (const token of tokens) at = (at as Json | undefined)?.[token];
    if (typeof at !== 'object' || at === null) throw new Error(`no such path: ${step.path}`);
    applyStep(at as Json, last, step);
  }
  return document;
}

function applyStep(at: Json, key: string, step: PatchStep): void {
  const exists = Array.isArray(at) ? Number(key) < at.length : key in at;
  if (step.op !== 'add' && !exists) throw new Error(`no such path: ${step.path}`);
  if (step.op === 'test') {
    if (JSON.stringify(at[key]) !== JSON.stringify(step.value)) throw new Error('test failed');
  } else if (step.op === 'remove') {
    if (Array.isArray(at)) at.splice(Number(key), 1);
    else delete at[key];
  } else if (step.op === 'add' && Array.isArray(at)) {
    at.splice(key === '-' ? at.length : Number(key), 0, step.value);
  } else if (step.op === 'add' || step.op === 'replace') at[key] = step.value;
  else throw new Error(`not served: ${step.op}`);
}

function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

function isPlain(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
