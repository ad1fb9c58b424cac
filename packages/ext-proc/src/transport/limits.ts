/** Every bound of the ext_proc transport, with the reason for each number. */

export interface TransportLimits {
  /** Calls at once on one connection. Each lasts as long as its HTTP exchange, so thousands. */
  streamsPerConnectionMax: number;
  /** Connections at once per worker. A gateway keeps one per worker and cluster. */
  connectionsMax: number;
  /** Calls at once per worker; the next one is refused with RESOURCE_EXHAUSTED. */
  streamsMax: number;
  /** Largest gRPC message taken. Must exceed the body cap by the rest of such a message. */
  messageBytesMax: number;
  /** How long a call may stay without a first message before it is ended. */
  firstMessageTimeoutMs: number;
  /** How long a message that was begun may stay without another byte of it. */
  messageTimeoutMs: number;
  /** How long a connection may take to become HTTP/2 (TLS and SETTINGS). */
  handshakeTimeoutMs: number;
  /** How long a connection may stay without any call; gateways open another when they need one. */
  idleConnectionTimeoutMs: number;
  /** How often a connection's peer is asked whether it is there. */
  pingIntervalMs: number;
  /** How long it may take to answer, before its connection and calls are given up. */
  pingTimeoutMs: number;
}

export const defaultTransportLimits: TransportLimits = {
  streamsPerConnectionMax: 8_192,
  connectionsMax: 2_048,
  streamsMax: 65_536,
  messageBytesMax: 33 * 1_048_576,
  firstMessageTimeoutMs: 10_000,
  messageTimeoutMs: 10_000,
  handshakeTimeoutMs: 10_000,
  idleConnectionTimeoutMs: 10 * 60_000,
  // A dead gateway's requests are counted as in flight for at most these together.
  pingIntervalMs: 30_000,
  pingTimeoutMs: 20_000,
};

/** Room for one call: a large body flows without waiting for the window to be renewed. */
export const streamWindowBytes = 1_048_576;

/** Room for one connection, which carries hundreds of calls. */
export const connectionWindowBytes = 16 * 1_048_576;

/**
 * What a connection may keep in Node's HTTP/2 session, in MB: the connection window inbound, and
 * outbound one write per stream; Node's own default of 10 refuses calls far below these.
 */
export const sessionMemoryMb = 256;

/** Bytes that may wait in one call's send queue before its reading is paused. */
export const sendQueueBytesMax = 262_144;

/** How often timeouts are looked at. */
export const sweepIntervalMs = 500;
