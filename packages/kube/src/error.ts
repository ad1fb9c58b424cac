/** Why a request to the API server failed. Low cardinality: label values and readiness reasons. */
export const kubeErrorCode = {
  /** No connection, or it broke. */
  connect: 'connect',
  /** No answer, or no byte of it, within the limit. */
  timeout: 'timeout',
  /** 401: the token or certificate is not accepted. */
  unauthorized: 'unauthorized',
  /** 403: accepted, but the role lacks this verb, resource or namespace. */
  rbac: 'rbac',
  /** 404: no such object, or its CRD is not installed. */
  notFound: 'not_found',
  /** 409: somebody else changed the object first. */
  conflict: 'conflict',
  /** 410, as a status or as an ERROR event: the version asked for is no longer kept. */
  gone: 'gone',
  /** 400, 422: the request itself is wrong. */
  invalid: 'invalid',
  /** 429 and 5xx: the server is there, but not able. */
  unavailable: 'unavailable',
  /** An answer that is no Kubernetes answer: not JSON, an object without name, a line too long. */
  protocol: 'protocol',
} as const;

export type KubeErrorCode = (typeof kubeErrorCode)[keyof typeof kubeErrorCode];

/** The only error of this package. `retryAfterMs` is what the server asked for, 0 if nothing. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: KubeErrorCode;
  readonly status: number;
  readonly retryAfterMs: number;

  constructor(
    code: KubeErrorCode,
    message: string,
    details: { status?: number; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.code = code;
    this.status = details.status ?? 0;
    this.retryAfterMs = details.retryAfterMs ?? 0;
  }
}

/** The code for an HTTP status that is not a success. */
export function codeOfStatus(status: number): KubeErrorCode {
  switch (status) {
    case 401:
      return kubeErrorCode.unauthorized;
    case 403:
      return kubeErrorCode.rbac;
    case 404:
      return kubeErrorCode.notFound;
    case 409:
      return kubeErrorCode.conflict;
    case 410:
      return kubeErrorCode.gone;
    case 400:
    case 405:
    case 415:
    case 422:
      return kubeErrorCode.invalid;
    default:
      return kubeErrorCode.unavailable;
  }
}
