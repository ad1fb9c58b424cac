/**
 * What a reflector keeps: the projection of every object, by UID.
 *
 * By UID and not by name, as a pod that is deleted and made again under its old name is another
 * pod. A complete list replaces the contents by difference, so a consumer never sees an empty
 * moment, and objects that went while nobody watched are told as removed.
 *
 * Bound: `itemsMax` objects; more are counted in `overflow` and not kept.
 */
import type { KubeObject } from './object.ts';
import { isKubeObject } from './object.ts';

export interface StoreListener<T> {
  /** A new object (`previous` undefined) or another projection of a known one. */
  upserted(uid: string, item: T, previous: T | undefined): void;
  removed(uid: string, item: T): void;
}

export interface StoreCounts {
  /** Objects not kept because the store was full. */
  overflow: number;
  /** Values that were no objects, or that the projection could not read. */
  rejected: number;
}

export class Store<T> {
  readonly counts: StoreCounts = { overflow: 0, rejected: 0 };
  readonly #items = new Map<string, T>();
  readonly #project: (object: KubeObject) => T | undefined;
  readonly #listener: StoreListener<T>;
  readonly #itemsMax: number;
  /** UIDs that events told of since a list beside the watch began; undefined: none is running. */
  #touched: Set<string> | undefined;

  constructor(options: {
    project: (object: KubeObject) => T | undefined;
    listener: StoreListener<T>;
    itemsMax: number;
  }) {
    this.#project = options.project;
    this.#listener = options.listener;
    this.#itemsMax = options.itemsMax;
  }

  get items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  /** The projection of one listed value; undefined (and counted) when it cannot be used. */
  read(value: unknown): { uid: string; item: T | undefined } | undefined {
    if (isKubeObject(value)) {
      try {
        return { uid: value.metadata.uid, item: this.#project(value) };
      } catch {
        // A projection meets every shape that some API server let pass: such an object is left out.
      }
    }
    this.counts.rejected++;
    return undefined;
  }

  /** An ADDED or MODIFIED event. */
  upsert(value: unknown): void {
    const read = this.read(value);
    if (read === undefined) return;
    this.#touched?.add(read.uid);
    this.#set(read.uid, read.item);
  }

  /** A DELETED event. */
  remove(value: unknown): void {
    if (!isKubeObject(value)) {
      this.counts.rejected++;
      return;
    }
    this.#touched?.add(value.metadata.uid);
    this.#delete(value.metadata.uid);
  }

  /** Takes a complete list that no watch ran beside: every difference is applied and told. */
  replace(listed: ReadonlyMap<string, T | undefined>): void {
    this.#touched = undefined;
    this.#apply(listed, undefined);
  }

  /** Marks the begin of a list that runs beside the watch. The result identifies it. */
  beginAudit(): ReadonlySet<string> {
    this.#touched = new Set();
    return this.#touched;
  }

  /**
   * Ends it with its list: what events told of meanwhile is newer and stays as it is. Ignored
   * when another list has been taken since, and without a list nothing changes.
   */
  endAudit(audit: ReadonlySet<string>, listed?: ReadonlyMap<string, T | undefined>): void {
    if (this.#touched !== audit) return;
    this.#touched = undefined;
    if (listed !== undefined) this.#apply(listed, audit);
  }

  #apply(
    listed: ReadonlyMap<string, T | undefined>,
    touched: ReadonlySet<string> | undefined,
  ): void {
    for (const uid of [...this.#items.keys()]) {
      if (!listed.has(uid) && touched?.has(uid) !== true) this.#delete(uid);
    }
    for (const [uid, item] of listed) {
      if (touched?.has(uid) !== true) this.#set(uid, item);
    }
  }

  #set(uid: string, item: T | undefined): void {
    if (item === undefined) {
      this.#delete(uid);
      return;
    }
    const previous = this.#items.get(uid);
    if (previous === undefined && this.#items.size >= this.#itemsMax) {
      this.counts.overflow++;
      return;
    }
    this.#items.set(uid, item);
    this.#listener.upserted(uid, item, previous);
  }

  #delete(uid: string): void {
    const item = this.#items.get(uid);
    if (item === undefined) return;
    this.#items.delete(uid);
    this.#listener.removed(uid, item);
  }
}
