/**
 * How a page is answered that is asked for by name (`name[]=…`):
 * `below` by `/metrics/` alone, as `/metrics` ignores it (vLLM up to 0.32); `everywhere` (newer);
 * `ignored`: with the whole page (other engines); `empty`: with nothing (vLLM with several API
 * servers); `frozen`: as it was at first (a cache in between); `hang`: never.
 */
export type SelectionAnswer = 'below' | 'everywhere' | 'ignored' | 'empty' | 'frozen' | 'hang';

/**
 * What a simulated engine can be made to do wrong, at any moment. Each member is one fault seen on
 * real engines; the defaults are those of a healthy one.
 */
export interface EngineFaults {
  /** `/metrics` takes the request and never answers. */
  metricsHang: boolean;
  /** Status of `/metrics`; anything but 200 comes with a short text. */
  metricsStatus: number;
  /** The page dribbles out over this time (ms). */
  metricsBodyMs: number;
  /** Bytes of comment lines put before the page. */
  metricsPadBytes: number;
  /** Without `Authorization: Bearer <token>` the answer is 401; '' asks for none. */
  metricsToken: string;
  /** Location that `/metrics` redirects to; '' for none. `/metrics/` serves the page too. */
  metricsRedirect: string;
  /** The page is compressed although nobody asked for it. */
  metricsGzip: boolean;
  /** The page stays as it is now, whatever the engine does. */
  metricsFrozen: boolean;
  /** Served in place of the page. */
  metricsBody: string | undefined;
  metricsContentType: string;
  selection: SelectionAnswer;
  /** A sample name that is left out when it is asked for by name; '' for none. */
  selectionLacks: string;
  /** Status of a page asked for by name, at any path. */
  selectionStatus: number;
  /** Location that a page asked for by name redirects to; '' for none. */
  selectionRedirect: string;
  /** Every response is followed by closing its connection, unannounced. */
  closeAfterResponse: boolean;
  /** Completions are taken and never answered, and the engine does not see them. */
  requestsHang: boolean;
  /** Completions fail with this status at once; 0 for none. */
  requestsStatus: number;
  /** A stream breaks off after this many tokens; Infinity for never. */
  requestsCutAfterTokens: number;
  /** The engine computes nothing any more; the web server goes on. */
  wedged: boolean;
  healthStatus: number;
}

export function noFaults(): EngineFaults {
  return {
    metricsHang: false,
    metricsStatus: 200,
    metricsBodyMs: 0,
    metricsPadBytes: 0,
    metricsToken: '',
    metricsRedirect: '',
    metricsGzip: false,
    metricsFrozen: false,
    metricsBody: undefined,
    metricsContentType: 'text/plain; version=0.0.4; charset=utf-8',
    selection: 'below',
    selectionLacks: '',
    selectionStatus: 200,
    selectionRedirect: '',
    closeAfterResponse: false,
    requestsHang: false,
    requestsStatus: 0,
    requestsCutAfterTokens: Number.POSITIVE_INFINITY,
    wedged: false,
    healthStatus: 200,
  };
}
