/** What a fetch asks for, and what it takes: a metrics page, or a JSON page. */

export interface WantedContent {
  /** Value of the `accept` header. */
  accept: string;
  /** Whether a page of this content type is what was asked for; `''`: the server states none. */
  isType(type: string): boolean;
}

/** Plain text and OpenMetrics; a server that states no type gets the benefit of the doubt. */
export const expositionContent: WantedContent = {
  // In this order; engines that negotiate give the plain text format.
  accept: 'text/plain;version=0.0.4;q=1, application/openmetrics-text;version=1.0.0;q=0.5',
  isType: (type) =>
    type === '' || /^(?:text\/plain|application\/openmetrics-text)\s*(?:;|$)/i.test(type),
};

export const jsonContent: WantedContent = {
  accept: 'application/json',
  isType: (type) => type === '' || /^application\/json\s*(?:;|$)/i.test(type),
};
