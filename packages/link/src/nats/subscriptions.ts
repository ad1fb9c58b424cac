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
  /** Of the present connection, by the number that its messages carry. */
  readonly #bySid = new Map<number, Entry>();
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
      if (entry.made !== undefined) this.#bySid.delete(entry.made.getID());
      entry.made?.unsubscribe();
      entry.made = undefined;
    };
  }

  /** Makes every subscription on a new connection. */
  makeAll(on: NatsConnection): void {
    this.#bySid.clear();
    for (const entry of this.#entries) this.#make(entry, on);
  }

  /** A message as it came from the socket. One of a subscription that was undone is ignored. */
  deliver(sid: number, subject: Uint8Array, payload: Uint8Array): void {
    const entry = this.#bySid.get(sid);
    if (entry === undefined || !this.#events.admit(payload.length)) return;
    this.#handle(entry, payload, latin1(subject));
  }

  #make(entry: Entry, on: NatsConnection): void {
    const events = this.#events;
    entry.made = on.subscribe(entry.subject, {
      callback: (error: Error | null, message: Msg) => {
        if (error !== null) {
          events.refused(error, entry.subject);
          return;
        }
        // Only messages with headers come this way.
        if (events.admit(message.data.length)) this.#handle(entry, message.data, message.subject);
      },
    });
    this.#bySid.set(entry.made.getID(), entry);
  }

  #handle(entry: Entry, payload: Uint8Array, subject: string): void {
    try {
      entry.handler(payload, subject);
    } catch (fault) {
      this.#events.handlerFailed(fault, entry.subject);
    }
  }
}

/** Subjects of ours are ASCII; one that is not is at least told apart. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}
