/** What a NATS link counts. Plain numbers, as they change on hot paths; metrics read them. */
export interface NatsCounters {
  connects: number;
  /** Connections after the first. */
  reconnects: number;
  disconnects: number;
  /** Attempts that failed for another reason than credentials. */
  connectErrors: number;
  /** Refused, expired or unreadable credentials. */
  authErrors: number;
  /** The server refuses a subject to this user. */
  permissionErrors: number;
  published: number;
  publishedBytes: number;
  received: number;
  receivedBytes: number;
  /** Not published, as there was no connection. */
  droppedOffline: number;
  /** Not published, as the server takes nothing at the moment. */
  droppedStalled: number;
  /** Not published, as the message is larger than the server takes. */
  droppedTooLarge: number;
  /** Received, but known to have waited too long. */
  droppedLate: number;
  /** Handlers that threw. */
  handlerErrors: number;
}

export function createNatsCounters(): NatsCounters {
  return {
    connects: 0,
    reconnects: 0,
    disconnects: 0,
    connectErrors: 0,
    authErrors: 0,
    permissionErrors: 0,
    published: 0,
    publishedBytes: 0,
    received: 0,
    receivedBytes: 0,
    droppedOffline: 0,
    droppedStalled: 0,
    droppedTooLarge: 0,
    droppedLate: 0,
    handlerErrors: 0,
  };
}
