import { expect, it } from 'vitest';
import { isForWindows } from './windows.ts';

const containers = [{ name: 'engine' }];
const require = (...terms: object[]) => ({
  containers,
  affinity: {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
  },
});
const by = (operator: string, ...values: string[]) => ({
  matchExpressions: [
    { key: 'pool', operator: 'Exists' },
    { key: 'kubernetes.io/os', operator, values },
  ],
});

it.each([
  ['os', { os: { name: 'windows' } }],
  ['a node selector', { nodeSelector: { 'kubernetes.io/os': 'windows' } }],
  ['the former label', { nodeSelector: { 'beta.kubernetes.io/os': 'windows' } }],
  ['options of the pod', { securityContext: { windowsOptions: { hostProcess: false } } }],
  [
    'options of a container',
    { containers: [{ name: 'e', securityContext: { windowsOptions: {} } }] },
  ],
  ['required affinity', require(by('In', 'windows'), by('NotIn', 'linux'))],
])('knows a pod for Windows by %s', (_, spec) => {
  expect(isForWindows({ containers, ...spec })).toBe(true);
});

it.each([
  ['nothing', {}],
  ['os', { os: { name: 'linux' }, nodeSelector: { 'kubernetes.io/os': 'windows' } }],
  ['a node selector', { nodeSelector: { 'kubernetes.io/os': 'linux' } }],
  ['affinity that either meets', require(by('In', 'windows', 'linux'))],
  ['one of two terms', require(by('In', 'windows'), by('In', 'linux'))],
  ['no terms', require()],
])('leaves Linux what it is by %s', (_, spec) => {
  expect(isForWindows({ containers, ...spec })).toBe(false);
});
