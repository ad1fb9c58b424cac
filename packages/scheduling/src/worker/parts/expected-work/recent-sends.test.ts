import { describe, expect, it } from 'vitest';
import { RecentSends } from './recent-sends.ts';

describe('RecentSends', () => {
  it('sums what was sent to each endpoint and forgets it in time', () => {
    const recent = new RecentSends();
    recent.add(3, 100, 10);
    recent.add(3, 50, 20);
    recent.add(5, 7, 20);
    expect([recent.tokens(3), recent.tokens(5), recent.tokens(4)]).toEqual([150, 7, 0]);
    recent.expire(10);
    expect(recent.tokens(3)).toBe(50);
    recent.expire(20);
    expect([recent.tokens(3), recent.tokens(5)]).toEqual([0, 0]);
  });

  it('takes any endpoint index and knows nothing of those never sent to', () => {
    const recent = new RecentSends();
    recent.add(5_000, 9, 0);
    expect(recent.tokens(5_000)).toBe(9);
    expect(recent.tokens(9_999)).toBe(0);
  });

  it('forgets the oldest sends early when there are too many, and stays consistent', () => {
    const recent = new RecentSends();
    for (let i = 0; i < 5_000; i++) recent.add(i % 3, 1, i);
    expect(recent.tokens(0) + recent.tokens(1) + recent.tokens(2)).toBe(2_048);
    recent.expire(5_000);
    expect([0, 1, 2].map((index) => recent.tokens(index))).toEqual([0, 0, 0]);
  });
});
