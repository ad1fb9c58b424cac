/**
 * Loads a user's module. The text's digest is part of the import's address, so a module that was
 * changed is loaded anew and one that was not is not. (Modules that it imports itself are cached
 * by Node for the life of the process, and old versions stay in memory: a reload is for changes
 * by people, not for a loop.)
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import type { ExtensionConfig } from '../../scheduling-config.ts';
import { type ExtensionParts, partsOf } from './extension-parts.ts';

/** A module that cannot be used; the message names it. */
export class ExtensionError extends Error {
  override readonly name = 'ExtensionError';
}

/** What to import later: the module's path and the digest of its text as it is now. */
export async function describeExtension(path: string): Promise<ExtensionConfig> {
  try {
    const digest = createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
    return { module: path, digest };
  } catch (error) {
    throw new ExtensionError(`extension ${path} cannot be read: ${textOf(error)}`);
  }
}

/** Imports a module and checks what it exports. Throws {@link ExtensionError}. */
export async function loadExtension(config: ExtensionConfig): Promise<ExtensionParts> {
  try {
    const address = `${pathToFileURL(config.module).href}?digest=${config.digest}`;
    const module = (await import(address)) as { default?: unknown };
    return partsOf(module.default);
  } catch (error) {
    throw new ExtensionError(`extension ${config.module} cannot be used: ${textOf(error)}`);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
