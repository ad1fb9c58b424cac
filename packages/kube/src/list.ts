/**
 * A complete list, page by page, each page projected and dropped before the next is asked for,
 * so that the memory of a list is one page and not the cluster.
 *
 * All pages belong to one version of the collection. When the server forgets that version
 * half-way (410), the whole list fails with `gone` and the caller begins anew.
 */
import type { KubeClient, Query } from './client.ts';
import { KubeError, kubeErrorCode } from './error.ts';

export interface ListSettings {
  readonly query: Query;
  /** Objects of one page. */
  readonly pageSize: number;
  /** Longest silence of one page, ms. */
  readonly idleMs: number;
  readonly signal: AbortSignal;
}

/** Calls `onObject` for each object; returns the version from which a watch goes on. */
export async function listAll(
  client: KubeClient,
  path: string,
  settings: ListSettings,
  onObject: (value: unknown) => void,
): Promise<string> {
  let next: string | undefined;
  for (;;) {
    const page = await client.json('GET', path, {
      query: { ...settings.query, limit: settings.pageSize, continue: next },
      idleMs: settings.idleMs,
      signal: settings.signal,
    });
    const { items, version, after } = readPage(page, path);
    for (const item of items) onObject(item);
    if (after === '') return version;
    next = after;
  }
}

function readPage(
  page: unknown,
  path: string,
): { items: readonly unknown[]; version: string; after: string } {
  const { items, metadata } = (page ?? {}) as {
    items?: unknown;
    metadata?: { resourceVersion?: unknown; continue?: unknown };
  };
  // An empty collection may come with `items: null`.
  const list = items ?? [];
  if (!Array.isArray(list) || typeof metadata?.resourceVersion !== 'string') {
    throw new KubeError(kubeErrorCode.protocol, `${path}: the answer is not a list`);
  }
  const after = typeof metadata.continue === 'string' ? metadata.continue : '';
  return { items: list, version: metadata.resourceVersion, after };
}
