/** One flow of one band: its waiting requests, and the service it has received. */
import type { HeldRequest } from './held-request.ts';
import { type HeapEntry, OrderedHeap } from './ordered-heap.ts';

/** A waiting request in its places: the heap of its flow and the band's list by arrival. */
export interface Waiting extends HeapEntry {
  readonly request: HeldRequest;
  readonly flow: Flow;
  /** Neighbours in the band's list, oldest first. */
  older: Waiting | undefined;
  newer: Waiting | undefined;
}

export class Flow implements HeapEntry {
  /** Virtual start: service received, tokens by weight. Least is next. */
  key = 0;
  order = 0;
  at = -1;
  readonly id: string;
  readonly weight: number;
  readonly waiting = new OrderedHeap<Waiting>();
  /** Requests that were dispatched and have not ended: they may still be charged. */
  running = 0;

  constructor(id: string, weight: number) {
    this.id = id;
    this.weight = weight;
  }
}
