import { describe, expect, it } from 'vitest';
import { Suspicion } from './suspicion.ts';

const everyMs = 500;

/** Feeds one scrape each half second; whether the engine was suspect after each. */
function watch(
  scrapes: { claimsWork: boolean; progress: number[] }[],
  settings = { scrapes: 10, forMs: 5_000 },
): boolean[] {
  const suspicion = new Suspicion(settings);
  return scrapes.map((scrape, i) => suspicion.observe({ nowMs: i * everyMs, ...scrape }));
}

describe('Suspicion', () => {
  it('falls on an engine that claims work while its counters stand still', () => {
    const verdicts = watch(Array(120).fill({ claimsWork: true, progress: [100, 50] }));
    expect(verdicts.indexOf(true)).toBe(10);
    expect(verdicts.slice(10)).not.toContain(false);
  });

  it('never falls on an idle engine, however long it stands still', () => {
    expect(watch(Array(500).fill({ claimsWork: false, progress: [100, 50] }))).not.toContain(true);
  });

  it('never falls on an engine without any sign of progress', () => {
    const silent = { claimsWork: true, progress: [Number.NaN, Number.NaN] };
    expect(watch(Array(100).fill(silent))).not.toContain(true);
  });

  it('ends with the first step, with the work, and when a sign comes or goes', () => {
    const stuck = { claimsWork: true, progress: [100, Number.NaN] };
    for (const end of [
      { claimsWork: true, progress: [101, Number.NaN] },
      { claimsWork: false, progress: [100, Number.NaN] },
      { claimsWork: true, progress: [100, 1] },
      { claimsWork: true, progress: [20, Number.NaN] },
    ]) {
      const verdicts = watch([...Array(20).fill(stuck), end, stuck]);
      expect(verdicts.slice(-3)).toEqual([true, false, false]);
    }
  });

  it('needs both the scrapes and the time', () => {
    const stuck = Array(30).fill({ claimsWork: true, progress: [1] });
    expect(watch(stuck, { scrapes: 25, forMs: 0 }).indexOf(true)).toBe(25);
    expect(watch(stuck, { scrapes: 2, forMs: 6_000 }).indexOf(true)).toBe(12);
  });
});
