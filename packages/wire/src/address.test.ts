import { describe, expect, it } from 'vitest';
import {
  canonicalAddress,
  formatHostPort,
  parseHostPort,
  readAddress,
  writeAddress,
} from './address.ts';
import { WireError } from './error.ts';

function roundTrip(text: string): string {
  const bytes = new Uint8Array(16);
  writeAddress(text, bytes, 0);
  return readAddress(bytes, 0);
}

describe('addresses', () => {
  it.each([
    ['10.0.255.1', '10.0.255.1'],
    ['::1', '::1'],
    ['[2001:DB8::7]', '2001:db8::7'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
    ['::ffff:10.0.0.9', '10.0.0.9'],
    ['64:ff9b::10.0.0.9', '64:ff9b::a00:9'],
    ['1:2:3:4:5:6:10.0.0.9', '1:2:3:4:5:6:a00:9'],
    ['::', '::'],
    ['1:0:3:4:5:6:7:8', '1:0:3:4:5:6:7:8'],
  ])('%s reads back as %s', (text, expected) => {
    expect(roundTrip(text)).toBe(expected);
  });

  it.each([
    '',
    'localhost',
    '10.0.0',
    '10.0.0.256',
    '10.0.0.010',
    '1.2.3.4::',
    '1.2.3.4::5',
    '1::2::3',
    ':1',
    '12345::',
    'fe80::1%eth0',
    '1:2:3:4:5:6:7',
  ])('refuses "%s"', (text) => {
    expect(() => roundTrip(text)).toThrow(WireError);
  });

  it('puts IPv6 in brackets before a port', () => {
    expect(formatHostPort('10.0.0.1', 80)).toBe('10.0.0.1:80');
    expect(formatHostPort('fe80::1', 80)).toBe('[fe80::1]:80');
  });
});

describe('one text for each address', () => {
  it.each([
    ['FD00:0:0:0:0:0:8:1', 'fd00::8:1'],
    ['fd00::8:1', 'fd00::8:1'],
    ['[FD00::8:1]', 'fd00::8:1'],
    ['::ffff:10.0.0.7', '10.0.0.7'],
    ['::FFFF:a00:7', '10.0.0.7'],
    ['10.0.0.7', '10.0.0.7'],
    ['pod.example', undefined],
  ])('%s is %s', (text, expected) => {
    expect(canonicalAddress(text)).toBe(expected);
  });

  it.each([
    ['10.0.0.7:8000', { address: '10.0.0.7', port: 8000 }],
    ['10.0.0.7', { address: '10.0.0.7' }],
    ['[FD00::1]:8000', { address: 'fd00::1', port: 8000 }],
    ['fd00::1', { address: 'fd00::1' }],
    ['fd00::1:80000', undefined],
    ['fd00:0:0:0:0:0:0:3:8000', { address: 'fd00::3', port: 8000 }],
    ['10.0.0.7:0', undefined],
    ['10.0.0.7:', undefined],
    [':8000', undefined],
    ['host:8000', undefined],
  ])('%s with its port', (text, expected) => {
    expect(parseHostPort(text)).toEqual(expected);
  });
});
