/** Why bytes were refused. Low cardinality: these are label values of counters. */
export const wireErrorCode = {
  /** Shorter than its own header, or than the length it states. */
  truncated: 'truncated',
  /** Does not begin with the magic of its kind. */
  magic: 'magic',
  /** A major version this reader does not know. */
  version: 'version',
  /** A length, count or number outside its bounds. */
  bounds: 'bounds',
  /** A value that no sender can mean: not UTF-8, not an address, a negative count. */
  value: 'value',
} as const;

export type WireErrorCode = (typeof wireErrorCode)[keyof typeof wireErrorCode];

/** The only error that reading or writing wire bytes throws. */
export class WireError extends Error {
  override readonly name = 'WireError';
  readonly code: WireErrorCode;

  constructor(code: WireErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
