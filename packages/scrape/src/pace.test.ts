import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { paceDefaults } from './defaults.ts';
import { Pace } from './pace.ts';

const busy = { durationMs: 2, failed: false, idle: false };

/** A pace without jitter. */
function pace(settings = paceDefaults): Pace {
  return new Pace(settings, () => 0.5);
}

describe('Pace', () => {
  it('keeps the wanted interval between the beginnings of two scrapes', () => {
    const one = pace();
    expect(one.next(busy)).toBe(48);
    expect(one.intervalMs).toBe(50);
    expect(one.durationMs).toBe(2);
  });

  it('takes at most a tenth of the time of an engine whose page is slow', () => {
    const one = pace();
    for (let i = 0; i < 9; i++) one.next({ ...busy, durationMs: 30 });
    expect(one.intervalMs).toBe(300);
    expect(one.next({ ...busy, durationMs: 30 })).toBe(270);
  });

  it('is never slower than the bound, and leaves a rest even then', () => {
    const one = pace();
    for (let i = 0; i < 9; i++) one.next({ ...busy, durationMs: 900 });
    expect(one.intervalMs).toBe(1_000);
    expect(one.next({ ...busy, durationMs: 1_500 })).toBe(50);
  });

  it('does not slow down for one scrape that took long', () => {
    const one = pace();
    for (let i = 0; i < 5; i++) one.next(busy);
    one.next({ ...busy, durationMs: 400 });
    expect(one.intervalMs).toBe(50);
  });

  it('slows down step by step while the engine is idle, and is back at once', () => {
    const one = pace();
    const intervals = Array.from({ length: 30 }, () => {
      one.next({ ...busy, idle: true });
      return one.intervalMs;
    });
    expect(intervals.slice(0, 10)).toEqual(new Array(10).fill(50));
    expect(intervals[12]).toBeGreaterThan(50);
    expect(intervals.at(-1)).toBe(200);
    one.next(busy);
    expect(one.intervalMs).toBe(50);
  });

  it('backs off from a page that fails, up to the bound, and is back at once', () => {
    const one = pace();
    const intervals = Array.from({ length: 8 }, () => {
      one.next({ ...busy, failed: true });
      return one.intervalMs;
    });
    expect(intervals).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000]);
    one.next(busy);
    expect(one.intervalMs).toBe(50);
  });

  it('begins at a random part of the interval', () => {
    expect(new Pace(paceDefaults, () => 0.25).firstDelayMs()).toBe(12.5);
  });

  it('keeps its bounds whatever it sees', () => {
    const outcome = fc.record({
      durationMs: fc.double({ min: 0, max: 5_000, noNaN: true }),
      failed: fc.boolean(),
      idle: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(outcome, { minLength: 1 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (all, r) => {
          const one = new Pace(paceDefaults, () => r);
          for (const seen of all) {
            const delayMs = one.next(seen);
            const affordableMs = Math.min(1_000, one.durationMs / paceDefaults.share);
            expect(one.intervalMs).toBeGreaterThanOrEqual(Math.max(50, affordableMs));
            expect(one.intervalMs).toBeLessThanOrEqual(1_000);
            expect(delayMs).toBeGreaterThanOrEqual(Math.min(50, seen.durationMs));
            expect(delayMs + seen.durationMs + 1e-6).toBeGreaterThanOrEqual(affordableMs);
            expect(delayMs).toBeLessThanOrEqual(1_050);
          }
        },
      ),
    );
  });
});
