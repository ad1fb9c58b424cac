/** In-flight counts never go negative and never forget a live request, in whatever order. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createInFlightBuffer, InFlightTable } from '../../shared/in-flight-table.ts';
import { Tickets } from './tickets.ts';

const endpointsMax = 4;
const step = fc.oneof(
  fc.record({ do: fc.constant('take'), endpoint: fc.nat(3), tokens: fc.nat(10_000) }),
  fc.record({ do: fc.constantFrom('firstToken', 'release'), of: fc.nat(60) }),
  fc.record({ do: fc.constant('move'), moved: fc.nat(60), to: fc.nat(3) }),
  fc.record({ do: fc.constant('stray'), ticket: fc.double() }),
);

interface Request {
  endpoint: number;
  tokens: number;
  decoding: boolean;
}

it('the table always says what a plain list of live requests says', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const shape = { endpointsMax, workers: 1 };
      const table = new InFlightTable(createInFlightBuffer(shape), shape, 0);
      const tickets = new Tickets(table);
      const given: number[] = [];
      const live = new Map<number, Request>();
      for (const each of steps) {
        if ('endpoint' in each) {
          const { endpoint, tokens } = each;
          const ticket = tickets.take(1, endpoint, tokens, tokens * 2);
          expect(live.has(ticket)).toBe(false);
          given.push(ticket);
          live.set(ticket, { endpoint, tokens, decoding: false });
        } else if ('moved' in each) {
          const ticket = given[each.moved % Math.max(1, given.length)] ?? 12_345;
          tickets.move(ticket, each.to);
          const request = live.get(ticket);
          if (request !== undefined) request.endpoint = each.to;
        } else if ('of' in each) {
          const ticket = given[each.of % Math.max(1, given.length)] ?? 12_345;
          const request = live.get(ticket);
          if (each.do === 'firstToken') {
            tickets.firstToken(ticket);
            if (request !== undefined) request.decoding = true;
          } else {
            expect(tickets.release(ticket)).toBe(request !== undefined);
            live.delete(ticket);
          }
        } else if (!live.has(each.ticket)) {
          expect(tickets.release(each.ticket)).toBe(false);
        }
        check(table, [...live.values()]);
      }
      expect(tickets.open).toBe(live.size);
    }),
    { numRuns: 200 },
  );
});

function check(table: InFlightTable, live: readonly Request[]): void {
  for (let endpoint = 0; endpoint < endpointsMax; endpoint++) {
    const here = live.filter((request) => request.endpoint === endpoint);
    const pending = here.filter(({ decoding }) => !decoding);
    const sum = (requests: readonly Request[]): number =>
      requests.reduce((total, { tokens }) => total + tokens, 0);
    expect(table.total(endpoint, 0)).toBe(here.length);
    expect(table.total(endpoint, 1)).toBe(sum(pending));
    expect(table.total(endpoint, 2)).toBe(here.length - pending.length);
    expect(table.total(endpoint, 3)).toBe(2 * sum(here));
  }
}
