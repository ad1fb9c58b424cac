import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { type CounterList, zeroes } from './counter-list.ts';
import { registerCounterList } from './read-counters.ts';

const list = {
  sent: ['sent_total', 'Sent.'],
  droppedLate: ['dropped_total', 'Dropped, by why.', 'late'],
  droppedFull: ['dropped_total', 'Dropped, by why.', 'full'],
} as const satisfies CounterList;

it('makes zeroes and metrics of one list', async () => {
  const counted = zeroes(list);
  expect(counted).toEqual({ sent: 0, droppedLate: 0, droppedFull: 0 });
  const registry = new Registry();
  registerCounterList(registry, 'test', list, () => counted);
  counted.sent = 3;
  counted.droppedFull = 2;
  const lines = (await registry.metrics()).split('\n').filter((line) => /^leadsman/.test(line));
  expect(lines).toEqual([
    'leadsman_test_sent_total 3',
    'leadsman_test_dropped_total{reason="late"} 0',
    'leadsman_test_dropped_total{reason="full"} 2',
  ]);
});

it('shows zeroes while there is nothing to read', async () => {
  const registry = new Registry();
  registerCounterList(registry, 'test', list, () => undefined);
  expect(await registry.metrics()).toMatch(/^leadsman_test_sent_total 0$/m);
});
