import { describe, expect, it } from 'vitest';
import { StallGuard, stallToleranceMs, tickMs } from './stall-guard.ts';

describe('the stall guard', () => {
  it('says nothing while ticks come about in time', () => {
    const guard = new StallGuard(0);
    for (let nowMs = 0; nowMs < 1_000; nowMs += tickMs + stallToleranceMs) {
      guard.tick(nowMs);
      expect(guard.extraAgeMs(nowMs + 10)).toBe(0);
    }
  });

  it('makes what arrives right after a stall as old as the stall was long', () => {
    const guard = new StallGuard(0);
    expect(guard.tick(5_000 + tickMs)).toBe(true);
    expect(guard.extraAgeMs(5_000 + tickMs)).toBe(5_000);
    expect(guard.extraAgeMs(5_000 + 2 * tickMs)).toBe(5_000);
    expect(guard.extraAgeMs(5_001 + 2 * tickMs)).toBe(0);
  });

  it('knows of a stall before its late tick is handled', () => {
    const guard = new StallGuard(0);
    expect(guard.extraAgeMs(3_000 + tickMs)).toBe(3_000);
  });
});
