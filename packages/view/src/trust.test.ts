import { reason, reportFlag } from '@leadsman/wire';
import { expect, it } from 'vitest';
import { isLoadKnown, staleAfterMsDefault, stateOf, trust, trustOf } from './trust.ts';

const limit = staleAfterMsDefault;

it('believes a known number up to the limit, and not an instant longer', () => {
  expect(trustOf(0, reason.ok, true, limit, limit)).toBe(trust.fresh);
  expect(trustOf(0, reason.ok, true, limit + 1, limit)).toBe(trust.stale);
});

it('never believes what was never known or never measured', () => {
  expect(trustOf(0, reason.ok, false, 0, limit)).toBe(trust.stale);
  expect(trustOf(0, reason.ok, true, Number.NaN, limit)).toBe(trust.stale);
});

it('puts sleep before suspicion, and both before age', () => {
  const both = reportFlag.sleeping | reportFlag.suspect;
  expect(trustOf(both, reason.ok, true, 0, limit)).toBe(trust.sleeping);
  expect(trustOf(reportFlag.suspect, reason.ok, true, limit * 9, limit)).toBe(trust.suspect);
});

it('tells unknown from stale by name only: both are the last resort', () => {
  expect(stateOf(0, reason.ok, false, 0, limit)).toBe('unknown');
  expect(stateOf(0, reason.ok, true, limit + 1, limit)).toBe('stale');
  expect(stateOf(reportFlag.suspect, reason.ok, false, 0, limit)).toBe('suspect');
  expect(stateOf(reportFlag.sleeping, reason.ok, false, 0, limit)).toBe('sleeping');
  expect(stateOf(0, reason.ok, true, 0, limit)).toBe('fresh');
});

it('knows a load by one of its two numbers', () => {
  expect(isLoadKnown(Number.NaN, 3)).toBe(true);
  expect(isLoadKnown(0, Number.NaN)).toBe(true);
  expect(isLoadKnown(Number.NaN, Number.NaN)).toBe(false);
});

it('takes a refused connection as evidence at once, whatever was known', () => {
  expect(trustOf(0, reason.connect, true, 0, limit)).toBe(trust.unreachable);
  expect(stateOf(reportFlag.suspect, reason.connect, false, 0, limit)).toBe('unreachable');
  // Another failure leaves the last numbers to their age.
  expect(trustOf(0, reason.timeout, true, 0, limit)).toBe(trust.fresh);
});
