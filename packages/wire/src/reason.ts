/**
 * The outcome of a target's latest scrape, one byte in the report. Append only: a number never
 * changes its meaning, and a reader shows one it does not know as `unknown_<n>`.
 */
export const reason = {
  ok: 0,
  /** No scrape has ended yet. */
  pending: 1,
  /** The deadline passed before the body was complete. */
  timeout: 2,
  /** The page is larger than the cap. */
  tooLarge: 3,
  /** Connection refused, reset, or no route. */
  connect: 4,
  /** A status other than 200. */
  httpStatus: 5,
  /** 401 or 403: the token is missing, wrong or expired. */
  unauthorized: 6,
  /** A redirect to another origin, or a second one. */
  redirect: 7,
  /** 200, but HTML, JSON or anything else than an exposition page. */
  contentType: 8,
  /** An encoding that was not asked for and cannot be undone, or undoing it failed. */
  encoding: 9,
  /** The page is no exposition text. */
  parse: 10,
  /** A valid page without one series of the engine's profile. */
  noSeries: 11,
  /** Reading the page took longer than its budget. */
  tooSlow: 12,
  /** The page ends before its end. */
  truncated: 13,
} as const;

export type Reason = (typeof reason)[keyof typeof reason];

const names: Record<number, string> = {
  [reason.ok]: 'ok',
  [reason.pending]: 'pending',
  [reason.timeout]: 'timeout',
  [reason.tooLarge]: 'too_large',
  [reason.connect]: 'connect',
  [reason.httpStatus]: 'http_status',
  [reason.unauthorized]: 'unauthorized',
  [reason.redirect]: 'redirect',
  [reason.contentType]: 'content_type',
  [reason.encoding]: 'encoding',
  [reason.parse]: 'parse',
  [reason.noSeries]: 'no_series',
  [reason.tooSlow]: 'too_slow',
  [reason.truncated]: 'truncated',
};

/** All reasons in snake_case, for counters that must exist from the start. */
export const reasonNames: readonly string[] = Object.values(names);

/** The snake_case name of a reason, used in labels, logs and JSON. */
export function reasonName(code: number): string {
  return names[code] ?? `unknown_${code}`;
}
