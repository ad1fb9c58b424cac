/**
 * A bearer token kept in a file that others rewrite. It is read at first use, and again when the
 * engine refuses it, but at most once per {@link rereadIntervalMs}: a wrong token must not turn
 * 20 scrapes a second into 20 file reads a second.
 */
import { readFileSync } from 'node:fs';

const rereadIntervalMs = 1_000;

/** A token is a header value; a file this long is something else. */
const tokenBytesMax = 16_384;

export class TokenFile {
  readonly #path: string;
  readonly #nowMs: () => number;
  #token: string | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(path: string, nowMs: () => number) {
    this.#path = path;
    this.#nowMs = nowMs;
  }

  /** The token, or `undefined` when the file is missing, empty or too long. */
  get token(): string | undefined {
    if (this.#readAtMs === Number.NEGATIVE_INFINITY) this.reread();
    return this.#token;
  }

  /** Reads the file again, if it may; whether the token is another one now. */
  reread(): boolean {
    const nowMs = this.#nowMs();
    if (nowMs - this.#readAtMs < rereadIntervalMs) return false;
    this.#readAtMs = nowMs;
    const before = this.#token;
    this.#token = readToken(this.#path);
    return this.#token !== undefined && this.#token !== before;
  }
}

function readToken(path: string): string | undefined {
  try {
    const text = readFileSync(path, 'latin1');
    const token = text.length > tokenBytesMax ? '' : text.trim();
    return /^[\x21-\x7e]+$/.test(token) ? token : undefined;
  } catch {
    return undefined;
  }
}
