/**
 * The requests that wait for a place in the batch: first come, first served, except that a
 * preempted sequence goes back to the front. All operations O(1) but `remove`.
 */
import type { Sequence } from './sequence.ts';

export class WaitingQueue {
  #items: Sequence[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  get first(): Sequence | undefined {
    return this.#items[this.#head];
  }

  /** The one that has `at` others before it. */
  at(at: number): Sequence | undefined {
    return this.#items[this.#head + at];
  }

  push(sequence: Sequence): void {
    this.#items.push(sequence);
  }

  pushFront(sequence: Sequence): void {
    if (this.#head > 0) this.#items[--this.#head] = sequence;
    else this.#items.unshift(sequence);
  }

  dropFirst(): void {
    this.#head++;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  /** False if it does not wait here. */
  remove(sequence: Sequence): boolean {
    const at = this.#items.indexOf(sequence, this.#head);
    if (at < 0) return false;
    this.#items.splice(at, 1);
    return true;
  }
}
