/**
 * What a gateway says about endpoints in the metadata and attributes of a message: which ones may
 * be picked, and which one was used in the end.
 */

import { header } from '../headers.ts';
import type { ProcessingRequest } from '../protobuf/processing-request.ts';
import { lbNamespace } from '../protobuf/processing-response.ts';
import { entryValue, mapEntry, type Span, textsOfValue } from '../protobuf/struct-lookup.ts';

const subsetNamespace = 'envoy.lb.subset_hint';
const subsetKey = `${header.destination}-subset`;
const servedKey = `${header.destination}-served`;
const extProcAttributes = 'envoy.filters.http.ext_proc';

/** As many endpoints as any pool may have. */
const subsetEntriesMax = 20_000;

/**
 * The subset of endpoints that the gateway allows: undefined without a hint, else its entries,
 * which may be none. A sender's single string counts as a comma list.
 */
export function subsetHint(message: ProcessingRequest): string[] | undefined {
  const namespace = metadataNamespace(message, subsetNamespace);
  const value = namespace && mapEntry(namespace, subsetKey);
  if (value === undefined) return undefined;
  return textsOfValue(value, subsetEntriesMax).flatMap(splitList);
}

/** Entries of a comma list, without blanks and empty ones. */
export function splitList(text: string): string[] {
  const entries: string[] = [];
  for (const part of text.split(',')) {
    const entry = part.trim();
    if (entry !== '') entries.push(entry);
  }
  return entries;
}

/** The endpoint that served the request, as the gateway's metadata tell; else undefined. */
export function servedEndpoint(message: ProcessingRequest): string | undefined {
  const namespace = metadataNamespace(message, lbNamespace);
  const served = namespace && mapEntry(namespace, servedKey);
  return served && textsOfValue(served, 1)[0];
}

/** The upstream of the request, as an attribute tells, whether it answered or not. */
export function upstreamAddress(message: ProcessingRequest): string | undefined {
  return attribute(message, 'upstream.address');
}

/** Envoy's words for where an answer comes from. */
export function responseCodeDetails(message: ProcessingRequest): string | undefined {
  return attribute(message, 'response.code_details');
}

function attribute(message: ProcessingRequest, name: string): string | undefined {
  const spans = message.attributeSpans;
  for (let i = 0; i < spans.length; i += 2) {
    const entry: Span = { bytes: message.bytes, from: spans[i]!, to: spans[i + 1]! };
    const attributes = entryValue(entry, extProcAttributes);
    const value = attributes && mapEntry(attributes, name);
    if (value !== undefined) return textsOfValue(value, 1)[0];
  }
  return undefined;
}

function metadataNamespace(message: ProcessingRequest, name: string): Span | undefined {
  if (message.metadataFrom === message.metadataTo) return undefined;
  const metadata = { bytes: message.bytes, from: message.metadataFrom, to: message.metadataTo };
  return mapEntry(metadata, name);
}
