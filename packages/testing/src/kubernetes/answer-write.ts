/** The fake's answers to POST, PUT, PATCH and DELETE. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { apiVersionOf, send } from './answer-list.ts';
import { collectionOf, type RequestTarget } from './api-resource.ts';
import { statusObject } from './fault.ts';
import type { NewObject, ObjectStore, StoredObject } from './object-store.ts';
import { jsonPatch, mergePatch, type PatchStep } from './patch.ts';

export async function answerWrite(
  store: ObjectStore,
  target: RequestTarget,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const text = await bodyOf(request);
  const collection = collectionOf(target.resource);
  const type = { apiVersion: apiVersionOf(target.resource), kind: target.resource.kind };
  const known = store.get(collection, target.namespace, target.name);
  const put = (object: NewObject) => {
    const metadata =
      target.namespace === ''
        ? object.metadata
        : { ...object.metadata, namespace: target.namespace };
    return store.put(collection, { ...object, metadata }, type);
  };
  if (request.method === 'POST') {
    const object = JSON.parse(text) as NewObject;
    const taken = store.get(collection, target.namespace, object.metadata.name ?? '');
    if (taken !== undefined) send(response, 409, statusObject(409, 'already exists'));
    else send(response, 201, put(object));
    return;
  }
  if (known === undefined) {
    send(response, 404, statusObject(404, `${target.name} not found`));
  } else if (request.method === 'DELETE') {
    store.remove(collection, target.namespace, target.name);
    send(response, 200, statusObject(200, 'deleted'));
  } else if (request.method === 'PUT') {
    const object = JSON.parse(text) as StoredObject;
    if (isOutdated(object, known)) send(response, 409, statusObject(409, 'changed meanwhile'));
    else send(response, 200, put(object));
  } else if (request.method === 'PATCH') {
    const kind = request.headers['content-type'] ?? '';
    const object = patched(known, kind, text);
    if (isOutdated(object, known)) send(response, 409, statusObject(409, 'changed meanwhile'));
    else send(response, 200, put(object));
  } else send(response, 405, statusObject(405, 'not served'));
}

function patched(known: StoredObject, kind: string, text: string): NewObject {
  const patch: unknown = JSON.parse(text);
  return kind.includes('json-patch')
    ? (jsonPatch(known, patch as PatchStep[]) as NewObject)
    : (mergePatch(known, patch) as NewObject);
}

function isOutdated(object: NewObject, known: StoredObject): boolean {
  const version = object.metadata.resourceVersion ?? '';
  return version !== '' && version !== known.metadata.resourceVersion;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}
