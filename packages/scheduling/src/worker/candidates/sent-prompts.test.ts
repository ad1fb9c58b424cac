import { expect, it } from 'vitest';
import { createRig, endpointsOf, type Rig } from '../../fixture/scheduler-rig.ts';
import { InFlightField } from '../../shared/in-flight-table.ts';

const config = 'default: { strategy: expected-work }';
const tokens = 1_600;
const text = (start: string) => new TextEncoder().encode(start.padEnd(4 * tokens, 'All are born.'));
const prompt = text('one');

/** What a prompt adds to the prefill at the only endpoint: its tokens that are not cached there. */
function uncached(rig: Rig, of = prompt): number {
  const pending = () => rig.inFlight.total(0, InFlightField.pendingTokens);
  const before = pending();
  const { ticket } = rig.pick({ prompt: of, promptTokens: tokens });
  const added = pending() - before;
  // Looking must leave no trace.
  rig.scheduler.withdraw(ticket);
  rig.scheduler.release(ticket, { outputTokens: -1, aborted: false });
  return added;
}

it('a request that came to no engine leaves nothing in the history', async () => {
  const rig = await createRig({ config, endpoints: endpointsOf(1) });
  for (let i = 0; i < 1_000; i++) {
    const { ticket } = rig.pick({ prompt, promptTokens: tokens });
    rig.scheduler.withdraw(ticket);
    rig.scheduler.release(ticket, { outputTokens: -1, aborted: false });
  }
  expect(uncached(rig)).toBe(tokens);
});

it('what was there before it stays, and what was sent again since', async () => {
  const rig = await createRig({ config, endpoints: endpointsOf(1) });
  rig.pick({ prompt, promptTokens: tokens });
  expect(uncached(rig)).toBeLessThan(tokens / 10);
  expect(uncached(rig)).toBeLessThan(tokens / 10);
  const other = text('two');
  const refused = rig.pick({ prompt: other, promptTokens: tokens });
  rig.pick({ prompt: other, promptTokens: tokens });
  rig.scheduler.withdraw(refused.ticket);
  expect(uncached(rig, other)).toBeLessThan(tokens / 10);
});

it('requests that are refused together leave nothing, in whatever order they are', async () => {
  const rig = await createRig({ config, endpoints: endpointsOf(1) });
  const tickets = Array.from(
    { length: 4 },
    () => rig.pick({ prompt, promptTokens: tokens }).ticket,
  );
  for (const at of [0, 2, 3, 1]) rig.scheduler.withdraw(tickets[at]!);
  expect(uncached(rig)).toBe(tokens);
});

it('a longer prompt of the same beginning keeps the beginning', async () => {
  const rig = await createRig({ config, endpoints: endpointsOf(1) });
  const short = prompt.subarray(0, prompt.length / 2);
  const long = rig.pick({ prompt, promptTokens: tokens });
  rig.pick({ prompt: short, promptTokens: tokens / 2 });
  rig.scheduler.withdraw(long.ticket);
  const left = uncached(rig);
  expect(left).toBeLessThan(tokens * 0.6);
  expect(left).toBeGreaterThan(tokens * 0.4);
});

it('a request that entered nothing withdraws nothing of the one whose place it has', async () => {
  const rig = await createRig({ config, endpoints: endpointsOf(1) });
  const first = rig.pick({ prompt, promptTokens: tokens });
  rig.scheduler.release(first.ticket, { outputTokens: 1, aborted: false });
  const { ticket } = rig.pick({ promptTokens: 10 });
  rig.scheduler.withdraw(ticket);
  rig.scheduler.withdraw(first.ticket + 1);
  rig.scheduler.withdraw(-1);
  expect(uncached(rig)).toBeLessThan(tokens / 10);
});
