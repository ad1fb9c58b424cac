/**
 * The bytes of the stream from a sidecar to its node's agent, on which both sides agree.
 *
 * ```
 *   GET /v1/frames, Upgrade: leadsman-frames     ──>
 *                                                <──  101
 *   length u32, flags u32, frame                 ──>       little-endian; as often as there is news
 *                                                <──  one byte: an answer
 * ```
 *
 * An answer comes to each frame that asks for one, and whenever it differs from the one before: a
 * sidecar that asks seldom is still told at once when its agent stops taking frames.
 */

/** Where sidecars upgrade, and where those of former releases POST single frames. */
export const agentFramesPath = '/v1/frames';
export const frameContentType = 'application/vnd.leadsman.frame';
export const frameStreamProtocol = 'leadsman-frames';

const streamHeaderBytes = 8;

/** Flag of a frame that wants an answer of its own. */
export const asksAnswer = 1;

/** Bit of the answer to a frame that asked for one. */
export const answerAsked = 0x80;

/**
 * What an agent says of a frame. `forward`: taken, but there is no way onward now, or soon.
 * `peer`: the peer is not the pod that the frame speaks for. `refused`: no frame, or no room.
 */
export const frameAnswers = ['accepted', 'forward', 'peer', 'refused'] as const;
export type FrameAnswer = (typeof frameAnswers)[number];

/** A frame with its header, in one piece: one system call writes it. */
export function streamed(frame: Uint8Array, flags: number): Buffer {
  const bytes = Buffer.allocUnsafe(streamHeaderBytes + frame.length);
  bytes.writeUInt32LE(frame.length, 0);
  bytes.writeUInt32LE(flags, 4);
  bytes.set(frame, streamHeaderBytes);
  return bytes;
}

/** `undefined` for a byte that no agent of this version sends. */
export function answerOf(byte: number): FrameAnswer | undefined {
  return frameAnswers[byte & ~answerAsked];
}

/** Gets a frame, in memory that is valid during the call, and its flags. */
export type StreamedFrameHandler = (frame: Uint8Array, flags: number) => void;

/** Puts a stream's chunks together. Cost: no copy of a frame that lies within one chunk. */
export class FrameSplitter {
  readonly #bytesMax: number;
  readonly #onFrame: StreamedFrameHandler;
  #held: Uint8Array | undefined;

  /** `bytesMax`: the largest frame that is taken. */
  constructor(bytesMax: number, onFrame: StreamedFrameHandler) {
    this.#bytesMax = bytesMax;
    this.#onFrame = onFrame;
  }

  /** Takes the next bytes. Throws RangeError for a frame larger than the bound. */
  push(chunk: Uint8Array): void {
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    while (bytes.length - at >= streamHeaderBytes) {
      const length = view.getUint32(at, true);
      if (length > this.#bytesMax) throw new RangeError(`a frame of ${length} bytes`);
      const end = at + streamHeaderBytes + length;
      if (end > bytes.length) break;
      const flags = view.getUint32(at + 4, true);
      this.#onFrame(bytes.subarray(at + streamHeaderBytes, end), flags);
      at = end;
    }
    if (at < bytes.length) this.#held = bytes.slice(at);
  }
}
