/** What the processes of the NATS client's benchmark tell each other. */

/** What reads the connection, and whether the thread gathers messages before it wakes up. */
export type Reading = 'plain' | 'own' | 'plain, batched' | 'own, batched';

export interface SenderTask {
  url: string;
  perS: number;
  payloadBytes: number;
}

export interface ReceiverTask {
  url: string;
  reading: Reading;
  seconds: number;
}

export interface ReceiverUse {
  /** Of one core, all threads. */
  cpuPercent: number;
  perS: number;
}
