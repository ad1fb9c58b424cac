import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { paceDefaults } from './defaults.ts';
import { nearestOnGrid } from './grid.ts';
import { Pace } from './pace.ts';

const busy = { durationMs: 2, failed: false, idle: false };

/** A pace without jitter. */
function pace(settings = paceDefaults): Pace {
  return new Pace(settings, () => 0.5);
}

describe('Pace', () => {
  it('keeps the wanted interval between the beginnings of two scrapes', () => {
    const one = pace();
    expect(one.next(busy, 0)).toBe(48);
    expect(one.intervalMs).toBe(50);
    expect(one.durationMs).toBe(2);
  });

  it('takes at most a tenth of the time of an engine whose page is slow', () => {
    const one = pace();
    for (let i = 0; i < 9; i++) one.next({ ...busy, durationMs: 30 }, 0);
    expect(one.intervalMs).toBe(300);
    expect(one.next({ ...busy, durationMs: 30 }, 0)).toBe(270);
  });

  it('is never slower than the bound, and leaves a rest even then', () => {
    const one = pace();
    for (let i = 0; i < 9; i++) one.next({ ...busy, durationMs: 900 }, 0);
    expect(one.intervalMs).toBe(1_000);
    expect(one.next({ ...busy, durationMs: 1_500 }, 0)).toBe(50);
  });

  it('does not slow down for one scrape that took long', () => {
    const one = pace();
    for (let i = 0; i < 5; i++) one.next(busy, 0);
    one.next({ ...busy, durationMs: 400 }, 0);
    expect(one.intervalMs).toBe(50);
  });

  it('takes no notice of the duration of a check, however often there is one', () => {
    const one = pace();
    for (let i = 0; i < 5; i++) one.next(busy, 0);
    for (let i = 0; i < 9; i++) one.next({ ...busy, durationMs: 40, isCheck: true }, 0);
    expect(one.durationMs).toBe(2);
    expect(one.intervalMs).toBe(50);
    // The engine has its rest after it all the same.
    expect(one.next({ ...busy, durationMs: 400, isCheck: true }, 0)).toBe(50);
  });

  it('goes by the durations from now on when scrapes begin to cost something else', () => {
    const one = pace();
    for (let i = 0; i < 9; i++) one.next({ ...busy, durationMs: 30 }, 0);
    expect(one.intervalMs).toBe(300);
    one.forget();
    one.next(busy, 0);
    expect(one.intervalMs).toBe(50);
    one.forget();
    one.next({ ...busy, durationMs: 30 }, 0);
    expect(one.intervalMs).toBe(300);
  });

  it('slows down step by step while the engine is idle, and is back at once', () => {
    const one = pace();
    const intervals = Array.from({ length: 30 }, () => {
      one.next({ ...busy, idle: true }, 0);
      return one.intervalMs;
    });
    expect(intervals.slice(0, 10)).toEqual(new Array(10).fill(50));
    expect(intervals[12]).toBeGreaterThan(50);
    expect(intervals.at(-1)).toBe(200);
    one.next(busy, 0);
    expect(one.intervalMs).toBe(50);
  });

  it('backs off from a page that fails, up to the bound, and is back at once', () => {
    const one = pace();
    const intervals = Array.from({ length: 8 }, () => {
      one.next({ ...busy, failed: true }, 0);
      return one.intervalMs;
    });
    expect(intervals).toEqual([50, 100, 200, 400, 800, 1_000, 1_000, 1_000]);
    one.next(busy, 0);
    expect(one.intervalMs).toBe(50);
  });

  it('begins at a random part of the interval', () => {
    expect(new Pace(paceDefaults, () => 0.25).firstDelayMs(0)).toBe(12.5);
  });

  it('keeps its bounds whatever it sees', () => {
    const outcome = fc.record({
      durationMs: fc.double({ min: 0, max: 5_000, noNaN: true }),
      failed: fc.boolean(),
      idle: fc.boolean(),
      isCheck: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(outcome, { minLength: 1 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (all, r) => {
          const one = new Pace(paceDefaults, () => r);
          for (const seen of all) {
            const delayMs = one.next(seen, 0);
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

describe('Pace on a grid', () => {
  const grid = { stepMs: 50, offsetMs: 20 };

  /** Beginnings of `count` scrapes that take `durationMs` each, from `nowMs` on. */
  function beginnings(one: Pace, nowMs: number, durationsMs: readonly number[]): number[] {
    let atMs = nowMs + one.firstDelayMs(nowMs);
    return durationsMs.map((durationMs) => {
      const beganMs = atMs;
      const endMs = beganMs + durationMs;
      atMs = endMs + one.next({ ...busy, durationMs }, endMs);
      return beganMs;
    });
  }

  it('begins at the same moments whenever targets are started', () => {
    for (const nowMs of [0, 7, 20, 49.5, 1e7 + 3]) {
      const one = new Pace({ ...paceDefaults, grid }, Math.random);
      const offsets = beginnings(one, nowMs, [2, 3.5, 1, 4]).map((ms) => (ms - 20) % 50);
      for (const offset of offsets) expect(Math.min(offset, 50 - offset)).toBeCloseTo(0, 6);
    }
  });

  it('is back on it after a scrape that took long', () => {
    const one = new Pace({ ...paceDefaults, grid }, Math.random);
    const began = beginnings(one, 0, [2, 2, 2, 2, 2, 90, 2, 2, 2, 2, 2, 2, 2]);
    expect((began.at(-1) as number) % 50).toBeCloseTo(20, 6);
  });

  it('is back on it after whatever happened, once the engine is busy and quick', () => {
    const past = fc.record({
      durationMs: fc.double({ min: 0, max: 2_000, noNaN: true }),
      failed: fc.boolean(),
      idle: fc.boolean(),
    });
    const start = fc.double({ min: 0, max: 1e10, noNaN: true });
    fc.assert(
      fc.property(fc.array(past, { maxLength: 40 }), start, (all, startMs) => {
        const one = new Pace({ ...paceDefaults, grid }, Math.random);
        let atMs = startMs + one.firstDelayMs(startMs);
        // Five outvote the slow ones, and five more give back the half of a step.
        for (const outcome of [...all, ...new Array(12).fill(busy)]) {
          const endMs = atMs + outcome.durationMs;
          atMs = endMs + one.next(outcome, endMs);
        }
        expect(Math.abs(nearestOnGrid(grid, atMs) - atMs)).toBeLessThan(1e-3);
      }),
    );
  });

  it('changes no planned interval by more than a tenth, whatever it is', () => {
    const outcome = fc.record({
      durationMs: fc.double({ min: 0, max: 4.9, noNaN: true }),
      failed: fc.boolean(),
      idle: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(outcome, { maxLength: 60 }), fc.nat(1e6), (all, startMs) => {
        const one = new Pace({ ...paceDefaults, grid }, Math.random);
        let atMs = startMs + one.firstDelayMs(startMs);
        for (const seen of all) {
          const delayMs = one.next(seen, atMs + seen.durationMs);
          const change = (seen.durationMs + delayMs) / one.intervalMs - 1;
          expect(Math.abs(change)).toBeLessThanOrEqual(0.1 + 1e-6);
          atMs += seen.durationMs + delayMs;
        }
      }),
    );
  });

  it('keeps the share of an engine whose page is slow', () => {
    const one = new Pace({ ...paceDefaults, grid }, Math.random);
    const began = beginnings(one, 0, new Array(20).fill(7));
    for (let i = 10; i < began.length; i++) {
      expect((began[i] as number) - (began[i - 1] as number)).toBeGreaterThanOrEqual(70 - 1e-6);
    }
  });

  it('never moves an interval by more than a tenth', () => {
    const durations = fc.array(fc.double({ min: 0, max: 4.9, noNaN: true }), { minLength: 2 });
    const offset = fc.double({ min: 0, max: 49.9, noNaN: true });
    fc.assert(
      fc.property(durations, offset, fc.nat(1e6), (durationsMs, offsetMs, nowMs) => {
        const settings = { ...paceDefaults, grid: { stepMs: 50, offsetMs } };
        const began = beginnings(new Pace(settings, Math.random), nowMs, durationsMs);
        for (let i = 1; i < began.length; i++) {
          const intervalMs = (began[i] as number) - (began[i - 1] as number);
          expect(intervalMs).toBeGreaterThanOrEqual(45 - 1e-6);
          expect(intervalMs).toBeLessThanOrEqual(55 + 1e-6);
        }
      }),
    );
  });
});
