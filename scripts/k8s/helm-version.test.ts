import { expect, it } from 'vitest';
import { isHelmUsable } from './helm-version.ts';

it.each(['v3.14.0', 'v3.14', '3.19.2+gabc', 'v4.0.0-beta.1', 'v4.3.2\n', 'v10.1.0'])(
  'takes %s',
  (version) => expect(isHelmUsable(version)).toBe(true),
);

it.each(['v3.13.3', 'v2.17.0', '', 'dev', 'v3'])('leaves %s', (version) =>
  expect(isHelmUsable(version)).toBe(false),
);
