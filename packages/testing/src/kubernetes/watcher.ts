/** One open watch of the fake API server: filters changes and writes them as lines. */
import type { ServerResponse } from 'node:http';
import { statusObject } from './fault.ts';
import type { Change, StoredObject } from './object-store.ts';

export class Watcher {
  readonly collection: string;
  /** Set by a test: the connection stays open and nothing more is written. */
  silent = false;
  readonly #response: ServerResponse;
  readonly #matches: (object: StoredObject) => boolean;

  constructor(
    collection: string,
    response: ServerResponse,
    matches: (object: StoredObject) => boolean,
  ) {
    this.collection = collection;
    this.#response = response;
    this.#matches = matches;
  }

  /** The type under which the watcher sees a change, undefined when it does not. */
  typeOf(change: Change): Change['type'] | undefined {
    if (change.collection !== this.collection) return undefined;
    const before = change.previous !== undefined && this.#matches(change.previous);
    const after = change.type !== 'DELETED' && this.#matches(change.object);
    if (before && after) return 'MODIFIED';
    if (after) return 'ADDED';
    return before ? 'DELETED' : undefined;
  }

  send(type: string, object: unknown): void {
    if (this.silent || this.#response.writableEnded) return;
    this.#response.write(`${JSON.stringify({ type, object })}\n`);
  }

  tell(change: Change): void {
    const type = this.typeOf(change);
    if (type !== undefined) this.send(type, change.object);
  }

  bookmark(version: number, kind: string, apiVersion: string): void {
    this.send('BOOKMARK', {
      kind,
      apiVersion,
      metadata: { resourceVersion: String(version), creationTimestamp: null },
    });
  }

  /** An ERROR event within the stream, then its end. */
  error(code: number, message: string): void {
    this.send('ERROR', statusObject(code, message));
    this.#response.end();
  }

  /** The regular end, as when `timeoutSeconds` have passed. */
  end(): void {
    this.#response.end();
  }

  /** The connection breaks. */
  drop(): void {
    this.#response.destroy();
  }
}
