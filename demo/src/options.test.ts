import { describe, expect, it } from 'vitest';
import { readOptions } from './options.ts';

describe('the flags of the demo', () => {
  it('has defaults that differ for a check', () => {
    expect(readOptions([])).toMatchObject({ check: false, phaseMs: 10_000, transport: 'nats' });
    expect(readOptions(['--check', '--json'])).toMatchObject({ json: true, phaseMs: 5_000 });
  });

  it.each([
    [['--seconds', '0']],
    [['--transport', 'carrier-pigeon']],
    [['--unknown']],
    [['extra']],
  ])('refuses %j with a message', (argv) => {
    expect(() => readOptions(argv)).toThrow();
  });

  it('gives nothing to run when help is asked for', () => {
    expect(readOptions(['--help'])).toBeUndefined();
  });
});
