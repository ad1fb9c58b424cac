/**
 * One attempt to connect to one NATS server, which leaves nothing behind when it fails.
 *
 * The client library gives up an attempt by looking away: when its timer wins against a server
 * that accepts but does not speak, the socket stays open, and a process that retries for hours
 * collects them. So the transport of each attempt is kept at hand here and destroyed on failure.
 */
import {
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
} from '@nats-io/transport-node';
import { type NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js';
import { GatheringTransport, type TransportOptions } from './transport.ts';

export interface Dial {
  /** The connection; rejects with the client library's error. */
  readonly connection: Promise<NatsConnection>;
  /** Destroys the socket, connected or not. */
  discard(): void;
}

export type DialOptions = Omit<TransportOptions, 'onTransport'>;

/** Starts the attempt. `options.reconnect` must be false: the caller does that. */
export function dial(options: DialOptions): Dial {
  const transports = new Set<NodeTransport>();
  let discarded = false;
  const discard = () => {
    discarded = true;
    for (const transport of transports) transport.discard();
    transports.clear();
  };
  const watched: TransportOptions = {
    ...options,
    onTransport: (transport) => {
      transports.add(transport);
      if (discarded) transport.discard();
    },
  };
  // Set before each attempt: any other user of the library in this process sets its own.
  setTransportFactory({ factory: () => new GatheringTransport(), dnsResolveFn: nodeResolveHost });
  const connection = NatsConnectionImpl.connect(watched).then(
    (connected) => {
      if (discarded) void connected.close();
      return connected;
    },
    (error: unknown) => {
      discard();
      throw error;
    },
  );
  return { connection, discard };
}
