import { describe, expect, it } from 'vitest';
import { SeededRandom } from './random.ts';

describe('SeededRandom', () => {
  it('repeats under a seed and differs between seeds', () => {
    const draw = (seed: number) => {
      const random = new SeededRandom(seed);
      return Array.from({ length: 20 }, () => random.next());
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it('has the means it promises', () => {
    const random = new SeededRandom(1);
    const n = 100_000;
    let uniform = 0;
    let exponential = 0;
    let normal = 0;
    for (let i = 0; i < n; i++) {
      uniform += random.next();
      exponential += random.exponential(3);
      normal += random.normal();
    }
    expect(uniform / n).toBeCloseTo(0.5, 2);
    expect(exponential / n / 3).toBeCloseTo(1, 1);
    expect(normal / n).toBeCloseTo(0, 1);
  });

  it('draws every integer below the bound and no other', () => {
    const random = new SeededRandom(2);
    const seen = new Set(Array.from({ length: 500 }, () => random.integer(5)));
    expect([...seen].sort()).toEqual([0, 1, 2, 3, 4]);
  });
});
