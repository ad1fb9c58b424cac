/**
 * How the gateway sends a body, and what that means for the replies. The mode is fixed at the first
 * message of an exchange; whoever handles the exchange asks for what a mode means, never which it is.
 */
export interface BodyMode {
  /** The body comes at all. */
  readonly showsBody: boolean;
  /** The gateway shows the body before the pick must be made. */
  readonly showsBodyBeforePick: boolean;
  /** The gateway awaits no reply for a chunk: chunks come before the pick and are held until then. */
  readonly sendsAhead: boolean;
  /** The body goes back in `streamed_response` replies. */
  readonly takesBodyBack: boolean;
  /** Each message is one gRPC message of the body: never cut, and empty ones go back too. */
  readonly keepsMessages: boolean;
}

const none: BodyMode = {
  showsBody: false,
  showsBodyBeforePick: false,
  sendsAhead: false,
  takesBodyBack: false,
  keepsMessages: false,
};
const streamed: BodyMode = { ...none, showsBody: true };
const buffered: BodyMode = { ...streamed, showsBodyBeforePick: true };
const fullDuplex: BodyMode = { ...buffered, sendsAhead: true, takesBodyBack: true };
const grpc: BodyMode = { ...streamed, takesBodyBack: true, keepsMessages: true };

export const BodyMode = {
  none,
  streamed,
  buffered,
  bufferedPartial: buffered,
  fullDuplex,
  grpc,
} as const;

/** By the numbers that ext_proc's `BodySendMode` gives them. */
const byNumber: readonly BodyMode[] = [none, streamed, buffered, buffered, fullDuplex, grpc];

/** A mode by the number on the wire; undefined for one that is not known yet. */
export function bodyModeOf(value: number): BodyMode | undefined {
  return byNumber[value];
}
