/** Why the collector refused to begin or go on. Low cardinality: fit for labels. */
export const collectorErrorCode = {
  /** The shared buffer is no fleet view, or one of another version or size. */
  viewFormat: 'view_format',
  /** A size outside its bounds. */
  bounds: 'bounds',
  /** Another writer has taken the view over: this one must not write any more. */
  superseded: 'superseded',
} as const;

export type CollectorErrorCode = (typeof collectorErrorCode)[keyof typeof collectorErrorCode];

/** The error of this package for faults that are not input: wrong sizes, wrong buffers. */
export class CollectorError extends Error {
  override readonly name = 'CollectorError';
  readonly code: CollectorErrorCode;

  constructor(code: CollectorErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
