import { describe, expect, it } from 'vitest';
import { formatHostPort, readAddress, writeAddress } from './address.ts';
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
