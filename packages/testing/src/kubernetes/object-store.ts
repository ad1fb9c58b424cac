/**
 * The fake's etcd: objects, one rising version for all of them, and the history that watches
 * resume from. `compact` forgets the history, after which older versions are gone (410).
 */
import { randomUUID } from 'node:crypto';
import type { SelectableObject } from './selector.ts';

export interface StoredObject extends SelectableObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: SelectableObject['metadata'] & {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** An object as a test writes it: the server fills in the rest. */
export interface NewObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name?: string;
    readonly generateName?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface Change {
  readonly version: number;
  readonly collection: string;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: StoredObject;
  readonly previous: StoredObject | undefined;
}

/** Changes kept for watches that resume; a test that wants 410 compacts. */
const historyMax = 100_000;

export class ObjectStore {
  #version = 1_000;
  #oldest = 1_000;
  #history: Change[] = [];
  readonly #collections = new Map<string, Map<string, StoredObject>>();
  readonly #onChange: (change: Change) => void;

  constructor(onChange: (change: Change) => void) {
    this.#onChange = onChange;
  }

  /** The version of the whole store. */
  get version(): number {
    return this.#version;
  }

  all(collection: string): StoredObject[] {
    return [...(this.#collections.get(collection)?.values() ?? [])];
  }

  get(collection: string, namespace: string, name: string): StoredObject | undefined {
    return this.#collections.get(collection)?.get(`${namespace}/${name}`);
  }

  /** Creates or replaces; UID and creation time of a replaced object stay. */
  put(collection: string, given: NewObject, type: { apiVersion: string; kind: string }) {
    const namespace = given.metadata.namespace ?? '';
    const name = given.metadata.name ?? `${given.metadata.generateName ?? ''}${shortId()}`;
    const previous = this.get(collection, namespace, name);
    const version = ++this.#version;
    const object = structuredClone({
      ...given,
      ...type,
      metadata: {
        creationTimestamp: previous?.metadata.creationTimestamp ?? new Date().toISOString(),
        ...given.metadata,
        name,
        uid: given.metadata.uid ?? previous?.metadata.uid ?? randomUUID(),
        resourceVersion: String(version),
      },
    }) as StoredObject;
    const objects = this.#collections.get(collection) ?? new Map<string, StoredObject>();
    this.#collections.set(collection, objects);
    objects.set(`${namespace}/${name}`, object);
    this.#record({
      version,
      collection,
      type: previous === undefined ? 'ADDED' : 'MODIFIED',
      object,
      previous,
    });
    return object;
  }

  /** The object that went; its version is the deletion's. Undefined when there was none. */
  remove(collection: string, namespace: string, name: string): StoredObject | undefined {
    const previous = this.get(collection, namespace, name);
    if (previous === undefined) return undefined;
    const version = ++this.#version;
    this.#collections.get(collection)?.delete(`${namespace}/${name}`);
    const object = {
      ...previous,
      metadata: { ...previous.metadata, resourceVersion: String(version) },
    };
    this.#record({ version, collection, type: 'DELETED', object, previous });
    return object;
  }

  /** Forgets the history: every version before now is gone. */
  compact(): void {
    this.#version++;
    this.#history = [];
    this.#oldest = this.#version;
  }

  /** The changes after `version`, or undefined when they are no longer known. */
  since(version: number): readonly Change[] | undefined {
    if (version < this.#oldest) return undefined;
    return this.#history.filter((change) => change.version > version);
  }

  #record(change: Change): void {
    this.#history.push(change);
    if (this.#history.length > historyMax) {
      this.#history = this.#history.slice(historyMax / 2);
      this.#oldest = this.#history[0]?.version ?? this.#version;
    }
    this.#onChange(change);
  }
}

function shortId(): string {
  return randomUUID().slice(0, 5);
}
