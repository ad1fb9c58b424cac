/**
 * `GET /v1/endpoints`: the whole view as JSON, for people and tools.
 *
 * The ingest runs on the same thread, and 10,000 endpoints are some 12 MB of text; so they are
 * written a slice at a time, and the event loop turns between two slices. A client that stops
 * reading stops the writing (the stream's own bound), nothing piles up.
 */
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { endpointJson } from '@leadsman/view/endpoint-json';
import { ViewReader } from '@leadsman/view/reader';
import { decodeRanks, podKeyText } from '@leadsman/wire';
import type { FastifyInstance } from 'fastify';

export interface EndpointsRouteOptions {
  view: ArrayBufferLike;
  staleAfterMs: number;
  nowMs: () => number;
  feed: () => string;
  ranksRecord: (slot: number) => Uint8Array | undefined;
}

/** Endpoints written before the loop may turn: about half a millisecond. */
const sliceEndpoints = 64;

/** Adds the route. One reader serves all requests; it is brought up to date at each. */
export function addEndpointsRoute(server: FastifyInstance, options: EndpointsRouteOptions): void {
  const reader = new ViewReader(options.view);
  server.get('/v1/endpoints', (_, reply) => {
    reader.refresh();
    return reply.type('application/json').send(Readable.from(slices(reader, options)));
  });
}

async function* slices(
  reader: ViewReader,
  options: EndpointsRouteOptions,
): AsyncGenerator<string, void, void> {
  yield `{"feed":${JSON.stringify(options.feed())},"staleAfterMs":${options.staleAfterMs},"endpoints":[`;
  let comma = '';
  let text = '';
  for (let slot = 0; slot < reader.slots; slot++) {
    if (slot % sliceEndpoints === sliceEndpoints - 1) {
      yield text;
      text = '';
      await nextTurn();
    }
    if (!reader.isUsed(slot)) continue;
    text += comma + JSON.stringify(withRanks(reader, slot, options));
    comma = ',';
  }
  yield `${text}]}\n`;
}

function withRanks(reader: ViewReader, slot: number, options: EndpointsRouteOptions) {
  return {
    ...endpointJson(reader, slot, options.nowMs(), options.staleAfterMs),
    // A NaN becomes null in JSON, which is what unknown is there.
    ranks: ranksOf(reader, slot, options),
  };
}

/** The ranks of an endpoint, unless its slot has been another's since the reader looked. */
function ranksOf(reader: ViewReader, slot: number, options: EndpointsRouteOptions) {
  const record = options.ranksRecord(slot);
  if (record === undefined) return [];
  const { podKey, port, epoch, ranks } = decodeRanks(record);
  const isSame =
    podKeyText(podKey) === reader.podKey(slot) &&
    port === reader.port(slot) &&
    epoch === reader.epoch(slot);
  return isSame ? ranks : [];
}
