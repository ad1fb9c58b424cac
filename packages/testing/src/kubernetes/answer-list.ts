/** The fake's answers to GET: one object, or a page of a list. */
import type { ServerResponse } from 'node:http';
import { type ApiResource, collectionOf, type RequestTarget } from './api-resource.ts';
import { statusObject } from './fault.ts';
import type { ObjectStore, StoredObject } from './object-store.ts';
import { selectorOf } from './selector.ts';

export function apiVersionOf(resource: ApiResource): string {
  return resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
}

export function answerList(
  store: ObjectStore,
  target: RequestTarget,
  query: URLSearchParams,
  response: ServerResponse,
): void {
  const collection = collectionOf(target.resource);
  if (target.name !== '') {
    const object = store.get(collection, target.namespace, target.name);
    if (object === undefined) send(response, 404, statusObject(404, `${target.name} not found`));
    else send(response, 200, object);
    return;
  }
  const page = pageOf(store, collection, target.namespace, query);
  if (page === undefined) {
    send(response, 410, statusObject(410, 'the provided continue parameter is too old'));
    return;
  }
  send(response, 200, {
    kind: `${target.resource.kind}List`,
    apiVersion: apiVersionOf(target.resource),
    metadata: {
      resourceVersion: String(page.version),
      ...(page.after === undefined ? {} : { continue: page.after, remainingItemCount: page.left }),
    },
    items: page.items,
  });
}

interface Page {
  version: number;
  items: StoredObject[];
  after: string | undefined;
  left: number;
}

/** Undefined: the version that `continue` belongs to is gone. */
function pageOf(
  store: ObjectStore,
  collection: string,
  namespace: string,
  query: URLSearchParams,
): Page | undefined {
  const selects = selectorOf(query.get('labelSelector') ?? '', query.get('fieldSelector') ?? '');
  const token = query.get('continue');
  const [from = '', start] = token ? Buffer.from(token, 'base64url').toString().split('\0') : [];
  const version = start === undefined ? store.version : Number(start);
  if (store.since(version) === undefined) return undefined;
  const all = store
    .all(collection)
    .filter((object) => namespace === '' || object.metadata.namespace === namespace)
    .filter(selects)
    .map((object) => ({ key: keyOf(object), object }))
    .filter(({ key }) => key > from)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const limit = Number(query.get('limit') ?? 0) || all.length;
  const taken = all.slice(0, limit);
  const last = taken.at(-1);
  const more = all.length > taken.length && last !== undefined;
  return {
    version,
    items: taken.map(({ object }) => object),
    after: more ? Buffer.from(`${last.key}\0${version}`).toString('base64url') : undefined,
    left: all.length - taken.length,
  };
}

function keyOf(object: StoredObject): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

export function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}
