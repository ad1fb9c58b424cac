import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { WaitOutcome } from '../../scheduler.ts';
import type { Waiting } from './flow.ts';
import { FlowQueue } from './flow-queue.ts';
import type { HeldRequest } from './held-request.ts';
import { orderings } from './ordering.ts';

const requestsMax = 12;
const bytesMax = 60;
const bandRequestsMax = 8;
const ttlMs = 50;

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('add' as const),
      priority: fc.integer({ min: -1, max: 2 }),
      flow: fc.integer({ min: 0, max: 3 }),
      bytes: fc.integer({ min: 0, max: 20 }),
      tokens: fc.integer({ min: 0, max: 1_000 }),
      deadlineMs: fc.integer({ min: 0, max: 500 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ type: fc.constant('dispatch' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cancel' as const), at: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('wait' as const), ms: fc.nat(60) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('ended' as const),
      tokens: fc.integer({ min: 0, max: 1_000 }),
    }),
  },
);

it('under any interleaving every request ends once, the bounds hold, and no turn is idle', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 120 }),
      fc.constantFrom(...orderings),
      fc.constantFrom(0, 0.2),
      (steps, ordering, floorShare) => {
        const queue = new FlowQueue({
          requestsMax,
          bytesMax,
          noEndpointTtlMs: ttlMs,
          bandOptions: () => ({
            ordering,
            ageingTokensPerMs: 1,
            ttlMs,
            requestsMax: bandRequestsMax,
            bytesMax,
            floorShare,
            weights: new Map([['1', 4]]),
          }),
        });
        const all: { request: HeldRequest; ends: WaitOutcome[]; waiting: Waiting | undefined }[] =
          [];
        const running: Waiting[] = [];
        let nowMs = 0;
        for (const one of steps) {
          if (one.type === 'add') {
            const ends: WaitOutcome[] = [];
            const request: HeldRequest = {
              priority: one.priority,
              flowId: String(one.flow),
              bytes: one.bytes,
              promptTokens: one.tokens,
              arrivedAtMs: nowMs,
              deadlineMs: nowMs + one.deadlineMs,
              ended: (outcome) => void ends.push(outcome),
            };
            all.push({ request, ends, waiting: queue.add(request) });
          } else if (one.type === 'dispatch') {
            const next = queue.peek();
            // Work conserving: somebody is next exactly while somebody waits.
            expect(next === undefined).toBe(queue.requests === 0);
            if (next !== undefined) {
              queue.dispatch(next);
              running.push(next);
            }
          } else if (one.type === 'cancel') {
            const chosen = all[one.at]?.waiting;
            if (chosen !== undefined) queue.end(chosen, 'cancelled');
          } else if (one.type === 'wait') {
            nowMs += one.ms;
            queue.expire(nowMs, true);
          } else {
            const done = running.pop();
            if (done !== undefined) queue.ended(done, one.tokens);
          }

          const open = all.filter(({ ends }) => ends.length === 0);
          expect(queue.requests).toBe(open.length);
          expect(queue.bytes).toBe(open.reduce((sum, { request }) => sum + request.bytes, 0));
          expect(queue.requests).toBeLessThanOrEqual(requestsMax);
          expect(queue.bytes).toBeLessThanOrEqual(bytesMax);
          for (const band of queue.bands) {
            expect(band.requests).toBeLessThanOrEqual(bandRequestsMax);
          }
          for (const { request, ends } of all) {
            expect(ends.length).toBeLessThanOrEqual(1);
            if (ends.length === 0 && one.type === 'wait') {
              expect(nowMs - request.arrivedAtMs).toBeLessThan(ttlMs);
            }
          }
        }
        queue.endAll('draining');
        expect(queue.requests).toBe(0);
        expect(all.every(({ ends }) => ends.length === 1)).toBe(true);
      },
    ),
  );
});

it('no flow of a band starves: one that always has work gets its share within a request of it', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          flow: fc.integer({ min: 0, max: 4 }),
          tokens: fc.integer({ min: 1, max: 500 }),
        }),
        {
          minLength: 1,
          maxLength: 300,
        },
      ),
      (requests) => {
        const queue = new FlowQueue({
          requestsMax: 10_000,
          bytesMax: 1e9,
          noEndpointTtlMs: 1e9,
          bandOptions: () => ({
            ordering: 'fcfs',
            ageingTokensPerMs: 1,
            ttlMs: 1e9,
            requestsMax: 10_000,
            bytesMax: 1e9,
            floorShare: 0,
            weights: new Map(),
          }),
        });
        const left = new Map<string, number>();
        for (const { flow, tokens } of requests) {
          const flowId = String(flow);
          left.set(flowId, (left.get(flowId) ?? 0) + 1);
          queue.add({
            priority: 0,
            flowId,
            bytes: 1,
            promptTokens: tokens,
            arrivedAtMs: 0,
            deadlineMs: 1e9,
            ended: () => {},
          });
        }
        const served = new Map<string, number>();
        for (let next = queue.peek(); next !== undefined; next = queue.peek()) {
          const { flowId, promptTokens } = next.request;
          queue.dispatch(next);
          left.set(flowId, left.get(flowId)! - 1);
          served.set(flowId, (served.get(flowId) ?? 0) + promptTokens);
          const backlogged = [...left].filter(([, count]) => count > 0).map(([flow]) => flow);
          // Of two flows that both always had work, neither is ahead by more than one request each.
          for (const a of backlogged) {
            for (const b of backlogged) {
              expect(Math.abs((served.get(a) ?? 0) - (served.get(b) ?? 0))).toBeLessThanOrEqual(
                1_000,
              );
            }
          }
        }
      },
    ),
  );
});
