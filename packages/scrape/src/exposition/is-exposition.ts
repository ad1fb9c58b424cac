/**
 * Tells a page that merely lacks an engine's series from one that is no exposition text at all
 * (an error text, a login page, binary data). Runs only when no wanted sample was found, so it
 * may afford regular expressions; it stops at the first line that proves the format.
 */

/** Lines looked at before giving up: a sound page proves itself in its first. */
const linesMax = 1_000;
const lineLengthMax = 4_096;

const comment = /^#\s*(?:HELP|TYPE|UNIT|EOF)\b/;
const sample =
  /^\s*(?:[a-zA-Z_:][a-zA-Z0-9_:]*\s*(?:\{.*\})?|\{.*\})\s+[+-]?(?:[0-9.]+(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)(?:\s|$)/i;

/** Whether `page` is empty or has at least one line of the exposition formats. */
export function isExposition(page: Buffer): boolean {
  let from = 0;
  let blank = true;
  for (let line = 0; line < linesMax && from < page.length; line++) {
    const found = page.indexOf(0x0a, from);
    const end = found < 0 ? page.length : found;
    const content = page.toString('latin1', from, Math.min(end, from + lineLengthMax)).trimEnd();
    if (comment.test(content) || sample.test(content)) return true;
    if (content !== '') blank = false;
    from = end + 1;
  }
  return blank;
}
