import { readConfig } from '@leadsman/service';
import { expect, it } from 'vitest';
import { contradictions } from './contradictions.ts';
import { pickerConfigShape } from './picker-config.ts';

const problemsOf = (...argv: string[]) =>
  contradictions(readConfig(pickerConfigShape, { argv, env: {}, name: 'test' }));

it('are none by default', () => {
  expect(problemsOf()).toEqual([]);
});

it('are said, each with its flags', () => {
  expect(problemsOf('--pool-source', 'file').join()).toContain('--pool-file');
  expect(problemsOf('--pool-source', 'file', '--pool-file', 'x')).toEqual([]);
  expect(problemsOf('--pool-source', 'view').join()).toContain('--pool-networks');
  expect(problemsOf('--pool-source', 'view', '--pool-networks', '10.0.0.0/8')).toEqual([]);
  expect(problemsOf('--expire-after-ms', '1500').join()).toContain('--stale-after-ms');
  expect(problemsOf('--expire-after-ms', '2000')).toEqual([]);
});
