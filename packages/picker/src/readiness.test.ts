import { expect, it } from 'vitest';
import { Readiness } from './readiness.ts';

it('waits for workers and membership without limit, for the view only so long', () => {
  const state = { membership: 'no pool yet' as string | undefined, view: false, threads: false };
  let nowMs = 1_000;
  const readiness = new Readiness({
    membership: () => state.membership,
    viewSynced: () => state.view,
    workersServing: () => state.threads,
    nowMs: () => nowMs,
    readyAfterMs: 500,
  });
  expect(readiness.missing()).toMatch(/workers/);
  state.threads = true;
  nowMs = 9_000;
  expect(readiness.missing()).toBe('no pool yet');
  nowMs = 1_000;
  state.membership = undefined;
  expect(readiness.missing()).toMatch(/view/);
  state.view = true;
  expect(readiness.missing()).toBeUndefined();
  state.view = false;
  nowMs = 1_500;
  expect(readiness.missing()).toBeUndefined();
  readiness.startDraining();
  expect(readiness.missing()).toBe('draining');
});
