import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mutated, mutations } from './mutation.ts';
import { fuzz } from './target.ts';
import { targets } from './targets.ts';

const plantedInputsMax = 100_000;

describe.each(targets)('$name', (target) => {
  it(`finds what was planted: ${target.planted.what}`, () => {
    const { finding } = fuzz(
      target,
      target.planted.check,
      1,
      (inputs) => inputs < plantedInputsMax,
    );
    expect(finding).toBeDefined();
    // The fault is the plant's: the input passes without it.
    expect(() => target.check(finding!.input)).not.toThrow();
    expect(() => target.planted.check(finding!.input)).toThrow();
  });

  it('is clean for the first inputs', () => {
    const { inputs, finding } = fuzz(target, target.check, 1, (done) => done < 500);
    expect(finding?.error).toBeUndefined();
    expect(inputs).toBeGreaterThanOrEqual(500);
  });
});

it('damage leaves the input that it was made from, and is bounded', () => {
  const changes = mutations(['token']);
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 99 }), changes, (bytes, list) => {
      const before = Uint8Array.from(bytes);
      expect(mutated(bytes, list).length).toBeLessThanOrEqual(65_536);
      expect(bytes).toEqual(before);
      expect(mutated(bytes, list)).toEqual(mutated(bytes, list));
    }),
  );
});
