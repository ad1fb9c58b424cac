/** How ledger messages travel: every replica hears every other, itself perhaps included. */
import type { NatsLink } from '@leadsman/link';
import { allPickersSubject, frameBytesMax, pickerSubject } from '@leadsman/wire';

export interface ReplicaTransport {
  readonly messageBytesMax: number;
  /** `false`: not sent. The bytes may be reused after the call. */
  send(message: Uint8Array): boolean;
  /** Begins to hand over messages; each is valid during the call only. */
  start(onMessage: (message: Uint8Array) => void): void;
}

/** A quarter of NATS's default limit: one message never holds up the others for long. */
const messageBytesMax = frameBytesMax / 4;

export function natsReplicaTransport(
  link: NatsLink,
  subjectPrefix: string,
  replicaName: string,
): ReplicaTransport {
  const subject = pickerSubject(subjectPrefix, replicaName);
  return {
    messageBytesMax,
    send: (message) => link.publish(subject, message),
    start: (onMessage) => {
      link.subscribe(allPickersSubject(subjectPrefix), (bytes) => onMessage(bytes));
    },
  };
}
