/**
 * The subscriptions of a link: they outlive its connections, and are made again on each.
 *
 * Messages go to their handler in the call that parsed them; there is no queue in between. A
 * handler that throws is counted and must not end the reading of the socket. A subject that the
 * server refuses is asked for again at the next connection, when permissions may have changed.
 */
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node';

/** The bytes are valid only during the call. */
export type MessageHandler = (bytes: Uint8Array, subject: string) => void;

interface Entry {
  subject: string;
  handler: MessageHandler;
  made: Subscription | undefined;
}

export interface SubscriptionEvents {
  /** Whether to let a message of this length pass. */
  admit(bytes: number): boolean;
  handlerFailed(error: unknown, subject: string): void;
  refused(error: Error, subject: string): void;
}

export class SubscriptionSet {
  readonly #entries = new Set<Entry>();
  readonly #events: SubscriptionEvents;

  constructor(events: SubscriptionEvents) {
    this.#events = events;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Adds a subscription, and makes it at once when there is a connection. */
  add(subject: string, handler: MessageHandler, on: NatsConnection | undefined): () => void {
    const entry: Entry = { subject, handler, made: undefined };
    this.#entries.add(entry);
    if (on !== undefined) this.#make(entry, on);
    return () => {
      this.#entries.delete(entry);
      entry.made?.unsubscribe();
      entry.made = undefined;
    };
  }

  /** Makes every subscription on a new connection. */
  makeAll(on: NatsConnection): void {
    for (const entry of this.#entries) this.#make(entry, on);
  }

  #make(entry: Entry, on: NatsConnection): void {
    const events = this.#events;
    entry.made = on.subscribe(entry.subject, {
      callback: (error: Error | null, message: Msg) => {
        if (error !== null) {
          events.refused(error, entry.subject);
          return;
        }
        if (!events.admit(message.data.length)) return;
        try {
          entry.handler(message.data, message.subject);
        } catch (fault) {
          events.handlerFailed(fault, entry.subject);
        }
      },
    });
  }
}
