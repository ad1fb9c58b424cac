/**
 * Flows by the name that a client gives, without trusting it: the first {@link flowsByNameMax}
 * names are flows of their own, all further ones share {@link sharedFlows} flows by hash. A name
 * leaves when its flow was forgotten, so a client that invents names fills the shared flows only
 * while its invented ones are busy.
 */
import { hashText } from '../../prefix/hash-text.ts';

export const flowsByNameMax = 1_024;
export const sharedFlows = 16;
/** A longer name is cut; ids of tenants are shorter. */
const flowIdLengthMax = 256;

export class FlowNames {
  readonly #names = new Set<string>();

  get size(): number {
    return this.#names.size;
  }

  /** The key of a flow: its name, or that of a shared flow. */
  keyOf(flowId: string): string {
    const name = flowId.length > flowIdLengthMax ? flowId.slice(0, flowIdLengthMax) : flowId;
    if (this.#names.has(name)) return name;
    // The line break keeps the shared flows' keys from being names: headers cannot hold one.
    if (this.#names.size >= flowsByNameMax) return `\n${(hashText(name) >>> 0) % sharedFlows}`;
    this.#names.add(name);
    return name;
  }

  /** The flow of this key is idle and owes nothing. */
  forget(key: string): void {
    this.#names.delete(key);
  }
}
