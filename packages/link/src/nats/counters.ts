/** What a NATS link counts, and the metrics that show it. */
import { type Counted, type CounterList, zeroes } from '@leadsman/service/counter-list';

const dropped = ['dropped_total', 'Messages dropped, by why.'] as const;

export const natsCounterList = {
  connects: ['connects_total', 'Connections made.'],
  reconnects: ['reconnects_total', 'Connections made after the first.'],
  disconnects: ['disconnects_total', 'Connections that ended.'],
  connectErrors: ['connect_errors_total', 'Attempts that failed, credentials left out.'],
  authErrors: ['auth_errors_total', 'Credentials refused, expired or unreadable.'],
  permissionErrors: ['permission_errors_total', 'Subjects refused to this user.'],
  published: ['published_messages_total', 'Messages given to the server.'],
  publishedBytes: ['published_bytes_total', 'Their payload bytes.'],
  received: ['received_messages_total', 'Messages received.'],
  receivedBytes: ['received_bytes_total', 'Their payload bytes.'],
  handlerErrors: ['handler_errors_total', 'Messages whose handler failed.'],
  /** Not published, as there was no connection. */
  droppedOffline: [...dropped, 'offline'],
  /** Not published, as the server takes nothing at the moment. */
  droppedStalled: [...dropped, 'stalled'],
  /** Not published, as the message is larger than the server takes. */
  droppedTooLarge: [...dropped, 'too_large'],
  /** Received, but known to have waited too long. */
  droppedLate: [...dropped, 'late'],
} as const satisfies CounterList;

export type NatsCounters = Counted<typeof natsCounterList>;

export const createNatsCounters = (): NatsCounters => zeroes(natsCounterList);
