/** What a fetch asks for, and what it takes: a metrics page, or a JSON page. */

import { reason } from '@leadsman/wire';
import { PageError } from './page-result.ts';

export interface WantedContent {
  /** Value of the `accept` header. */
  accept: string;
  /** Whether a page of this content type is what was asked for; `''`: the server states none. */
  isType(type: string): boolean;
  /** Throws a {@link PageError} when the page is known to have been cut. */
  checkEnd(bytes: Uint8Array, how: { type: string; isFramed: boolean }): void;
}

/** Plain text and OpenMetrics; a server that states no type gets the benefit of the doubt. */
export const expositionContent: WantedContent = {
  // Whoever names OpenMetrics gets it from the Prometheus client for Python, whatever the weights
  // say, and with other names (`vllm_…` for `vllm:…`) than its page in text format has.
  accept: 'text/plain;version=0.0.4, */*;q=0.1',
  isType: (type) =>
    type === '' || /^(?:text\/plain|application\/openmetrics-text)\s*(?:;|$)/i.test(type),
  checkEnd(bytes, { type, isFramed }) {
    // OpenMetrics 1.0: a page MUST end with this line, so that a cut one can be told.
    if (/^application\/openmetrics-text/i.test(type) && !endsWithEof(bytes)) {
      throw new PageError(reason.truncated, 'an OpenMetrics page without # EOF');
    }
    // Text format 0.0.4: the last line MUST end with a line feed. Many servers do without, which
    // is taken where HTTP itself says that the body is whole.
    if (!isFramed && bytes.length > 0 && bytes.at(-1) !== lineFeed) {
      throw new PageError(reason.truncated, 'the connection ended within a line');
    }
  },
};

const lineFeed = 0x0a;
const eof = Buffer.from('# EOF');

function endsWithEof(bytes: Uint8Array): boolean {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1]! <= 0x20) end--;
  const from = end - eof.length;
  const startsLine = from === 0 || bytes[from - 1] === lineFeed;
  return from >= 0 && startsLine && eof.equals(bytes.subarray(from, end));
}

export const jsonContent: WantedContent = {
  accept: 'application/json',
  isType: (type) => type === '' || /^application\/json\s*(?:;|$)/i.test(type),
  // A cut object does not parse.
  checkEnd() {},
};
