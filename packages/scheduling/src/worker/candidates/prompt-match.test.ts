import { expect, it } from 'vitest';
import { createRig, endpointsOf } from '../../fixture/scheduler-rig.ts';
import { InFlightField } from '../../shared/in-flight-table.ts';

it('prompts of different cache identities share nothing, whatever their text', async () => {
  const rig = await createRig({
    config: 'default: { strategy: expected-work }',
    endpoints: endpointsOf(2),
  });
  const tokens = 8_000;
  const prompt = new TextEncoder().encode('All tenants ask the same. '.repeat((4 * tokens) / 26));
  const send = (cacheIdentity: string) => {
    const pending = () =>
      [0, 1].map((index) => rig.inFlight.total(index, InFlightField.pendingTokens));
    const before = pending();
    const { ticket, endpoint } = rig.pick({ prompt, promptTokens: tokens, cacheIdentity });
    const { index } = endpoint!;
    const uncached = pending()[index]! - before[index]!;
    return { ticket, index, uncached };
  };
  const first = send('m\ncache_salt=tenant-a');
  expect(first.uncached).toBe(tokens);
  // The pod has one request more: only a cached prompt is worth going there.
  for (const other of ['m\ncache_salt=tenant-b', 'm', '']) {
    const sent = send(other);
    expect([sent.index, sent.uncached]).toEqual([1 - first.index, tokens]);
    rig.scheduler.withdraw(sent.ticket);
    rig.scheduler.release(sent.ticket, { outputTokens: 1, aborted: false });
  }
  const again = send('m\ncache_salt=tenant-a');
  expect(again.index).toBe(first.index);
  expect(again.uncached).toBeLessThan(tokens / 10);
});
