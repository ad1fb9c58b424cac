import type { EndpointJson } from '@leadsman/view/endpoint-json';
import { createView } from '@leadsman/view/layout';
import { ViewWriter } from '@leadsman/view/writer';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { FrameIngest } from '../ingest/frame-ingest.ts';
import { goneRecord, ranksRecord, reportRecord, SampleSender } from '../sample-frame.ts';
import { addEndpointsRoute } from './endpoints-route.ts';

test('an endpoint is never shown with the ranks of another that took its slot meanwhile', async () => {
  const view = createView({ slotsMax: 256 });
  const ingest = new FrameIngest({ writer: new ViewWriter(view), nowMs: 0, keepRanks: true });
  const sender = new SampleSender();
  const report = (uid: string, waiting: readonly number[]) => [
    reportRecord({ uid, engineRanks: waiting.length }),
    ranksRecord({ uid }, waiting),
  ];
  const uids = Array.from({ length: 200 }, (_, i) => `pod-${i}`);
  ingest.receive(sender.frame(uids.flatMap((uid) => report(uid, [1, 1]))), 0);
  let slots = 0;
  const server = Fastify();
  addEndpointsRoute(server, {
    view,
    staleAfterMs: 2_000,
    nowMs: () => 0,
    feed: () => 'synced',
    ranksRecord: (slot) => {
      // While the page is written, every slot not yet shown gets another endpoint.
      if (slots++ === 10) {
        for (const uid of uids) {
          ingest.receive(sender.frame([goneRecord({ uid, seq: 2 })]), 0);
          ingest.receive(sender.frame(report(`${uid}-next`, [7, 7, 7])), 0);
        }
      }
      return ingest.ranksRecord(slot);
    },
  });
  const { endpoints } = (await server.inject('/v1/endpoints')).json() as {
    endpoints: (EndpointJson & { ranks: unknown[] })[];
  };
  expect(endpoints).toHaveLength(200);
  expect(endpoints.map(({ ranks }) => ranks.length)).toEqual(uids.map((_, i) => (i < 10 ? 2 : 0)));
  const { endpoints: next } = (await server.inject('/v1/endpoints')).json();
  expect(next[0].ranks).toHaveLength(3);
  await server.close();
});
