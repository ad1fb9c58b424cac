/** Why a view cannot be made, opened or written. Low cardinality: fit for labels. */
export const viewErrorCode = {
  /** The shared buffer is no fleet view, or one of another version or size. */
  viewFormat: 'view_format',
  /** A size outside its bounds. */
  bounds: 'bounds',
  /** Another writer has taken the view over: this one must not write any more. */
  superseded: 'superseded',
} as const;

export type ViewErrorCode = (typeof viewErrorCode)[keyof typeof viewErrorCode];

/** The error of this package for faults that are not input: wrong sizes, wrong buffers. */
export class ViewError extends Error {
  override readonly name = 'ViewError';
  readonly code: ViewErrorCode;

  constructor(code: ViewErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
