import { expect, it } from 'vitest';
import { DueRequests } from './due-requests.ts';
import type { RoutingRequest } from './request.ts';

const request = (id: number, atMs: number, after?: RoutingRequest['after']): RoutingRequest => ({
  id,
  atMs,
  promptTokens: 1,
  outputTokens: 1,
  blocks: [],
  engineBlocks: [],
  session: 0,
  replica: 0,
  isLong: false,
  ...(after !== undefined && { after }),
});

it('sends open requests by their time, and followers after the answer they wait for', () => {
  const requests = [
    request(0, 10),
    request(1, 20, { id: 0, thinkMs: 100 }),
    request(2, 30),
    request(3, 40, { id: 1, thinkMs: 5 }),
  ];
  const due = new DueRequests(requests);
  expect(due.nextMs).toBe(10);
  expect(due.take().id).toBe(0);
  due.ended(requests[0]!, 15);
  expect(due.nextMs).toBe(30);
  expect(due.take().id).toBe(2);
  expect(due.nextMs).toBe(115);
  expect(due.take().id).toBe(1);
  expect(due.nextMs).toBe(Number.POSITIVE_INFINITY);
  expect(due.isEmpty).toBe(false);
  due.ended(requests[1]!, 200);
  expect(due.nextMs).toBe(205);
  expect(due.take().id).toBe(3);
  expect(due.isEmpty).toBe(true);
  expect(() => due.take()).toThrow('nothing is due');
});
