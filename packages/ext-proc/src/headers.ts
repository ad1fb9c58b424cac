/** Every HTTP header that exchanges read or write, in lower case. */
export const header = {
  method: ':method',
  path: ':path',
  status: ':status',
  connection: 'connection',
  contentEncoding: 'content-encoding',
  contentLength: 'content-length',
  contentType: 'content-type',
  retryAfter: 'retry-after',
  upgrade: 'upgrade',
  /** One HTTP request, as the gateway names it; clients may choose it. */
  requestId: 'x-request-id',
  /** Where the request goes: overwritten or removed whatever a client sent. */
  destination: 'x-gateway-destination-endpoint',
  /** Why the picker refused: ours, and the name that tools written for llm-d look for. */
  reason: 'x-leadsman-reason',
  droppedReason: 'x-llm-d-request-dropped-reason',
  /** Envoy: the answer came from an upstream, after so many ms. */
  upstreamTime: 'x-envoy-upstream-service-time',
  /** Envoy refused by itself: a circuit breaker, a rate limit. */
  overloaded: 'x-envoy-overloaded',
  rateLimited: 'x-envoy-ratelimited',
  /** The conformance suite steers the pick, and learns where the request went. */
  conformanceSelection: 'test-epp-endpoint-selection',
  conformanceServed: 'x-conformance-test-served-endpoint',
} as const;
