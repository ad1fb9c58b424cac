/**
 * In-flight indexes of this process by what endpoints are called on the wire: replicas agree on
 * pod key and port, never on indexes.
 */
import { podKeyFromUid } from '@leadsman/wire';
import type { PoolUpdate } from '../../endpoint.ts';

interface NamedEndpoint {
  podKey: Uint8Array;
  port: number;
  /** `<uid>/<port>` */
  text: string;
}

export class EndpointNames {
  /** Highest index in use + 1. */
  width = 0;
  #byIndex: (NamedEndpoint | undefined)[] = [];
  #indexByText = new Map<string, number>();
  readonly #pools = new Map<string, PoolUpdate>();

  /**
   * Takes over memberships. Returns the indexes that now stand for another endpoint, or for none,
   * or for one where there was none, so that what was known under them can be forgotten. (On both
   * occasions: a worker that had not heard yet may have used the old index in between.)
   */
  update(updates: readonly PoolUpdate[], removed: readonly string[]): number[] {
    for (const name of removed) this.#pools.delete(name);
    for (const update of updates) this.#pools.set(update.pool, update);
    const byIndex: (NamedEndpoint | undefined)[] = [];
    const indexByText = new Map<string, number>();
    for (const { endpoints } of this.#pools.values()) {
      for (const { index, podKey, port } of endpoints) {
        const text = `${podKey}/${port}`;
        const known = this.#byIndex[index];
        byIndex[index] =
          known?.text === text ? known : { podKey: podKeyFromUid(podKey), port, text };
        indexByText.set(text, index);
      }
    }
    const changed: number[] = [];
    const width = Math.max(this.#byIndex.length, byIndex.length);
    for (let index = 0; index < width; index++) {
      if (this.#byIndex[index] !== byIndex[index]) changed.push(index);
    }
    this.#byIndex = byIndex;
    this.#indexByText = indexByText;
    this.width = byIndex.length;
    return changed;
  }

  at(index: number): NamedEndpoint | undefined {
    return this.#byIndex[index];
  }

  /** -1 when this process knows no such endpoint. */
  indexOf(text: string): number {
    return this.#indexByText.get(text) ?? -1;
  }
}
