/**
 * How the gateway sends a body, with the numbers that ext_proc's `BodySendMode` gives them.
 * The mode decides which replies are legal, so it is fixed at the first message of an exchange.
 */
export const BodyMode = {
  none: 0,
  streamed: 1,
  buffered: 2,
  bufferedPartial: 3,
  fullDuplex: 4,
  /** One message per gRPC message of the request; replies as in full duplex, never re-cut. */
  grpc: 5,
} as const;
export type BodyMode = (typeof BodyMode)[keyof typeof BodyMode];

/** True for the modes in which the body comes back in `streamed_response` replies. */
export function echoes(mode: BodyMode): boolean {
  return mode === BodyMode.fullDuplex || mode === BodyMode.grpc;
}

/** A mode by the number on the wire; undefined for one that is not known yet. */
export function bodyModeOf(value: number): BodyMode | undefined {
  return value >= 0 && value <= 5 ? (value as BodyMode) : undefined;
}
