/**
 * Which threads have stopped answering: a thread that hangs keeps its connections, and gateways
 * whose health checks happen to meet another thread behind the same port go on calling it.
 *
 * Counted in questions and not in time: when the whole process stood still, a thread missed one
 * question and not many. A thread that still starts is not asked.
 */
export class SilenceWatch {
  readonly #unansweredMax: number;
  /** Questions that each listening thread has not answered. */
  readonly #unanswered = new Map<number, number>();

  /** A thread hangs when it has left so many questions unanswered. */
  constructor(unansweredMax: number) {
    this.#unansweredMax = unansweredMax;
  }

  /** The thread listens: it is asked from now on. */
  begin(thread: number): void {
    this.#unanswered.set(thread, 0);
  }

  /** A message came from the thread. */
  heard(thread: number): void {
    if (this.#unanswered.has(thread)) this.#unanswered.set(thread, 0);
  }

  /** The thread ended. */
  end(thread: number): void {
    this.#unanswered.delete(thread);
  }

  /** All threads were asked something. Gives those that hang, once each. */
  asked(): number[] {
    const hanging: number[] = [];
    for (const [thread, unanswered] of this.#unanswered) {
      if (unanswered >= this.#unansweredMax) hanging.push(thread);
      else this.#unanswered.set(thread, unanswered + 1);
    }
    for (const thread of hanging) this.#unanswered.delete(thread);
    return hanging;
  }
}
