/**
 * Bytes of a watch → its lines. A watch sends one JSON document per line; a line may arrive in
 * any number of pieces, and one piece may hold many lines.
 *
 * Bound: a line longer than `lineBytesMax` is an error, not memory. The pieces of an unfinished
 * line are joined once, when its end arrives.
 */
import { KubeError, kubeErrorCode } from './error.ts';

/** etcd refuses objects above 1.5 MiB by default; JSON of it is larger than its stored form. */
const lineBytesMax = 8 * 1024 * 1024;

const newline = 0x0a;

export class JsonLines {
  readonly #onLine: (value: unknown) => void;
  readonly #max: number;
  #pieces: Buffer[] = [];
  #pending = 0;

  constructor(onLine: (value: unknown) => void, max = lineBytesMax) {
    this.#onLine = onLine;
    this.#max = max;
  }

  /** Takes the next piece. Throws {@link KubeError} `protocol`; the stream is then of no use. */
  push(piece: Buffer): void {
    let from = 0;
    for (;;) {
      const end = piece.indexOf(newline, from);
      if (end < 0) break;
      this.#pieces.push(piece.subarray(from, end));
      from = end + 1;
      const line = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
      this.#pieces = [];
      this.#pending = 0;
      if (line.length > 0) this.#onLine(parse(line));
    }
    if (from === piece.length) return;
    this.#pieces.push(piece.subarray(from));
    this.#pending += piece.length - from;
    if (this.#pending > this.#max) {
      throw new KubeError(kubeErrorCode.protocol, `a line exceeds ${this.#max} bytes`);
    }
  }
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch (cause) {
    throw new KubeError(kubeErrorCode.protocol, 'a line of the watch is not JSON', { cause });
  }
}
