import { expect, it } from 'vitest';
import { podTarget } from './pod-target.ts';

it('reads what a pod says, several ports included', () => {
  expect(
    podTarget({
      'leadsman.dev/port': '8000, 8001,8000',
      'leadsman.dev/path': '/custom/metrics',
      'leadsman.dev/scheme': 'https',
      'leadsman.dev/engine': 'sglang',
      'leadsman.dev/token-file': '/var/run/token',
    }),
  ).toEqual({
    ports: [8000, 8001],
    path: '/custom/metrics',
    scheme: 'https',
    engine: 'sglang',
    tokenFile: '/var/run/token',
    faults: [],
  });
});

it('takes what cannot be used for absent and names it', () => {
  const target = podTarget({
    'leadsman.dev/port': 'http',
    'leadsman.dev/scheme': 'ftp',
    'leadsman.dev/path': 'no-slash',
  });
  expect(target).toMatchObject({ ports: [], scheme: '', path: '' });
  expect(target.faults).toHaveLength(3);
  expect(podTarget(undefined)).toEqual({
    ports: [],
    path: '',
    scheme: '',
    engine: '',
    tokenFile: '',
    faults: [],
  });
});
