/**
 * What a number may be, and how the numbers of several series and ranks make one, by unit.
 *
 * | unit | may be | parts of a rank | ranks |
 * |---|---|---|---|
 * | requests | 0 … 10⁹ | added | added |
 * | total | 0 … 2⁵³ | added | added |
 * | capacity | 1 … 2⁵³ | added | added |
 * | ratio | 0 … 1 | largest | capacity-weighted mean |
 * | size | 1 … 2⁵³ | largest | largest |
 *
 * Anything else is no number: NaN, infinity, -1 and other negative sentinels, "no value" as the
 * largest 64-bit integer. It makes the number unknown, never 0.
 */
import type { MetricUnit } from '@leadsman/wire';

/**
 * No server holds a thousand million requests, but -1 in an unsigned 32-bit integer is four times
 * that.
 */
const requestsMax = 1e9;

/** Engines that divide in single precision state a full cache as 1.0000001. */
const ratioTolerance = 1e-3;

/** `value` when a number of this unit can be that, else NaN. */
export function soundValue(unit: MetricUnit, value: number): number {
  switch (unit) {
    case 'requests':
      return value >= 0 && value <= requestsMax ? value : Number.NaN;
    case 'total':
      return value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : Number.NaN;
    case 'capacity':
    case 'size':
      return value > 0 && value <= Number.MAX_SAFE_INTEGER ? value : Number.NaN;
    case 'ratio':
      if (!(value >= 0 && value <= 1 + ratioTolerance)) return Number.NaN;
      return Math.min(1, value);
  }
}

/** Whether several parts of a rank add up (else the largest counts). */
export function addsParts(unit: MetricUnit): boolean {
  return unit === 'requests' || unit === 'total' || unit === 'capacity';
}
