import { expect, it } from 'vitest';
import { older } from './age-watch.ts';

it('an endpoint without an age does not make the oldest one forgotten', () => {
  const ages = [5, 1_900, undefined, null, Number.NaN, 7];
  expect(ages.reduce<number>(older, Number.NaN)).toBe(1_900);
  expect(older(Number.NaN, undefined)).toBeNaN();
});
