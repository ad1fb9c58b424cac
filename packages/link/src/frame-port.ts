/**
 * The two ends of a transport: where a sender puts frames, and where a receiver gets them.
 *
 * Every transport (NATS, direct gRPC, HTTP to the node's agent) keeps the same promises, so that
 * choosing one is configuration only:
 * - nothing here throws or waits because the other side is away;
 * - a frame that cannot leave now is dropped and counted, never kept to be sent later: by then it
 *   would tell old load as if it were new, and the next keyframe makes up for it within a second.
 */

/** Takes frames. Ownership of the array passes to the sink until it is sent. */
export interface FrameSink {
  /** Largest frame that will pass now, bytes. May change with each connection. */
  readonly frameBytesMax: number;
  /** Whether a frame given now is likely to arrive. */
  readonly connected: boolean;
  /** Sends, or returns `false` after counting a drop. Never throws, never waits. */
  send(frame: Uint8Array): boolean;
  /** Sends what is under way, then lets go of sockets and timers. */
  close(): Promise<void>;
}

/**
 * Gets a frame, in memory that is valid only during the call, and how long it is known to have
 * waited on its way, ms: at least so much older is all that it tells.
 */
export type FrameHandler = (frame: Uint8Array, waitedMs: number) => void;

/** Gives frames. */
export interface FrameSource {
  /** Begins to call `onFrame`. Call once. */
  start(onFrame: FrameHandler): void;
  /** Whether frames can arrive now. */
  readonly connected: boolean;
  close(): Promise<void>;
}
