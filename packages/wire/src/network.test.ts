import { expect, it } from 'vitest';
import { WireError } from './error.ts';
import { Network } from './network.ts';

it.each([
  ['10.0.0.0/8', '10.255.0.1', true],
  ['10.0.0.0/8', '11.0.0.1', false],
  ['10.0.0.0/8', '::ffff:10.0.0.1', true],
  ['10.1.2.0/23', '10.1.3.255', true],
  ['10.1.2.0/23', '10.1.4.0', false],
  ['::ffff:10.0.0.0/104', '10.9.9.9', true],
  ['fd00::/8', 'FD12:0:0:0:0:0:8:1', true],
  ['fd00::/8', 'fe00::1', false],
  ['fd00::/8', '10.0.0.1', false],
  ['10.0.0.7', '10.0.0.7', true],
  ['10.0.0.7', '10.0.0.6', false],
  ['0.0.0.0/0', '1.2.3.4', true],
  ['0.0.0.0/0', 'fd00::1', false],
  ['::/0', 'fd00::1', true],
  ['10.0.0.0/8', 'pod.example', false],
])('%s has %s: %s', (network, address, expected) => {
  expect(new Network(network).has(address)).toBe(expected);
});

it.each(['', '10.0.0.0/33', 'fd00::/129', '10.0.0.0/8/9', '10.0.0.0/-1', '10.0.0.0/', 'all'])(
  'refuses %j',
  (text) => {
    expect(() => new Network(text)).toThrow(WireError);
  },
);
