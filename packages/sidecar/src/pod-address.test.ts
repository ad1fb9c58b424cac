import type { NetworkInterfaceInfo } from 'node:os';
import { ConfigError } from '@leadsman/service';
import { describe, expect, it } from 'vitest';
import { podAddressOf } from './pod-address.ts';

function address(text: string, internal = false): NetworkInterfaceInfo {
  const rest = { address: text, netmask: '', mac: '', internal, cidr: null };
  return text.includes(':') ? { ...rest, family: 'IPv6', scopeid: 0 } : { ...rest, family: 'IPv4' };
}

const lo = [address('127.0.0.1', true), address('::1', true)];
const local = ['http://127.0.0.1:8000/'];

describe('the address that a sidecar reports', () => {
  it('is the one that is given, whatever else there is', () => {
    expect(podAddressOf('10.0.0.9', ['http://10.1.1.1/'], { eth0: [address('10.0.0.7')] })).toEqual(
      {
        address: '10.0.0.9',
        from: 'pod-ip',
        warning: '',
      },
    );
  });

  it('is the only address of the interfaces that others can reach', () => {
    const eth0 = [address('10.0.0.7'), address('fe80::1'), address('169.254.1.1')];
    for (const url of ['http://127.0.0.1:8000/', 'http://localhost/', 'http://[::1]:1/']) {
      expect(podAddressOf('', [url], { lo, eth0 })).toMatchObject({
        address: '10.0.0.7',
        from: 'interface',
        warning: '',
      });
    }
  });

  it('is the IPv4 address of two families, else the IPv6 one', () => {
    const eth0 = [address('fd00::7'), address('10.0.0.7')];
    expect(podAddressOf('', local, { lo, eth0 }).address).toBe('10.0.0.7');
    expect(podAddressOf('', local, { lo, eth0: [address('fd00::7')] }).address).toBe('fd00::7');
  });

  it('counts an address that two interfaces have once', () => {
    const eth0 = [address('10.0.0.7')];
    expect(podAddressOf('', local, { eth0, br0: eth0 }).address).toBe('10.0.0.7');
  });

  it('is the address at which the engines are asked, when that is not the own machine', () => {
    const urls = ['http://10.0.0.5:8000/', 'http://10.0.0.5:8001/'];
    expect(podAddressOf('', urls, { eth0: [address('10.0.0.7')] })).toMatchObject({
      address: '10.0.0.5',
      from: 'engine',
    });
    expect(podAddressOf('', ['http://[fd00::5]:8000/'], {}).address).toBe('fd00::5');
  });

  it('is loopback with a warning when there are several or none, and engines are there', () => {
    const several = { lo, eth0: [address('10.0.0.7')], eth1: [address('10.9.0.7')] };
    expect(podAddressOf('', local, several)).toMatchObject({
      address: '127.0.0.1',
      from: 'loopback',
      warning: expect.stringMatching(/several \(10\.0\.0\.7, 10\.9\.0\.7\).*--pod-ip/),
    });
    for (const none of [{}, { lo }, { lo, eth0: [address('fe80::1')] }, { eth0: undefined }]) {
      expect(podAddressOf('', ['http://0.0.0.0:8000/'], none)).toMatchObject({
        address: '127.0.0.1',
        warning: expect.stringMatching(/no address/),
      });
    }
  });

  it('is refused when nothing tells it and the engines are elsewhere', () => {
    for (const urls of [['http://engine.test/'], ['http://10.0.0.1/', 'http://10.0.0.2/']]) {
      expect(() => podAddressOf('', urls, { lo })).toThrow(ConfigError);
      expect(() => podAddressOf('', urls, { lo })).toThrow(/pod-ip: not given/);
    }
  });
});
