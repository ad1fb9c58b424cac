import { expect, it } from 'vitest';
import { InFlightAudit } from './in-flight-audit.ts';
import { createInFlightBuffer, InFlightField, InFlightTable } from './in-flight-table.ts';

const shape = { endpointsMax: 8, workers: 2 };

function setup() {
  const buffer = createInFlightBuffer(shape);
  const table = new InFlightTable(buffer, shape, -1);
  const alive = new InFlightTable(buffer, shape, 0);
  const words = new Int32Array(buffer);
  /** A worker's first addition without its second: to its own row, endpoint 3, requests. */
  const halfAddition = (worker: number) => Atomics.add(words, 32 * (1 + worker) + 12, 1);
  const requests = () => table.total(3, InFlightField.requests);
  return { table, alive, halfAddition, requests, audit: new InFlightAudit(table) };
}

it('mends the total of a worker that was killed between its two additions', () => {
  const { table, alive, halfAddition, requests, audit } = setup();
  alive.add(3, InFlightField.requests, 2);
  halfAddition(1);
  table.forgetWorker(1);
  expect(requests()).toBe(1);
  audit.begin();
  audit.audit();
  // Others go on meanwhile.
  alive.add(3, InFlightField.requests, 5);
  audit.audit();
  expect(requests()).toBe(7);
  audit.audit();
  expect(requests()).toBe(7);
  audit.stop();
});

it('leaves alone what is off in one audit only', () => {
  const { table, halfAddition, requests, audit } = setup();
  halfAddition(0);
  audit.begin();
  audit.audit();
  halfAddition(0);
  audit.audit();
  audit.stop();
  expect(requests()).toBe(0);
  expect(table.discrepancies().size).toBe(1);
});
