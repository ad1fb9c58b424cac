/**
 * The address that a sidecar reports for its pod: the one requests are sent to, and from which an
 * agent expects the report. Kubernetes tells it (`--pod-ip`); without that it is worked out, as a
 * loopback address is of use to nobody but processes of the same machine.
 *
 * Pure: the interfaces come in as `os.networkInterfaces()` gives them.
 */
import { BlockList, isIP } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import { ConfigError } from '@leadsman/service';

export type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

export interface PodAddress {
  address: string;
  /** Who said so: the configuration, the engine's own address, an interface, or nobody. */
  from: 'pod-ip' | 'engine' | 'interface' | 'loopback';
  /** Why it is but a loopback address; empty when it is none. */
  warning: string;
}

/** Addresses that mean the machine itself when an engine is asked there. */
const own = new BlockList();
own.addSubnet('127.0.0.0', 8, 'ipv4');
own.addAddress('0.0.0.0', 'ipv4');
own.addAddress('::1', 'ipv6');
own.addAddress('::', 'ipv6');

/** Addresses of one link only, which nobody else can send to. */
const linkLocal = new BlockList();
linkLocal.addSubnet('169.254.0.0', 16, 'ipv4');
linkLocal.addSubnet('fe80::', 10, 'ipv6');

/**
 * The first that there is of: `podIp`; the address of the engines, when they are asked at one that
 * is not loopback; the only address of the pod's interfaces, IPv4 before IPv6; loopback, when the
 * engines are there. Throws {@link ConfigError} when there is none of them.
 */
export function podAddressOf(
  podIp: string,
  engineUrls: readonly string[],
  interfaces: Interfaces,
): PodAddress {
  if (podIp !== '') return { address: podIp, from: 'pod-ip', warning: '' };
  const hosts = [...new Set(engineUrls.map(hostOf))];
  const [host = ''] = hosts;
  if (hosts.length === 1 && isIP(host) !== 0 && !isOwnMachine(host)) {
    return { address: host, from: 'engine', warning: '' };
  }
  const candidates = candidatesOf(interfaces);
  const [only] = candidates;
  if (only !== undefined && candidates.length === 1) {
    return { address: only, from: 'interface', warning: '' };
  }
  const found = candidates.length === 0 ? 'no address' : `several (${candidates.join(', ')})`;
  if (!hosts.every(isOwnMachine)) {
    throw new ConfigError([`pod-ip: not given, and the interfaces have ${found}`]);
  }
  const warning = `no pod IP is given and the interfaces have ${found}: reporting 127.0.0.1, which only gateways and agents of this machine can use; set --pod-ip`;
  return { address: '127.0.0.1', from: 'loopback', warning };
}

/** The addresses that others may reach: of IPv4 all, and without any those of IPv6. */
function candidatesOf(interfaces: Interfaces): string[] {
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const of = (family: 'IPv4' | 'IPv6') => [
    ...new Set(all.filter((one) => one.family === family && isReachable(one)).map(addressOf)),
  ];
  const addresses = of('IPv4');
  return addresses.length > 0 ? addresses : of('IPv6');
}

function isReachable({ internal, family, address }: NetworkInterfaceInfo): boolean {
  return !internal && !linkLocal.check(address, family === 'IPv4' ? 'ipv4' : 'ipv6');
}

function addressOf({ address }: NetworkInterfaceInfo): string {
  return address;
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

function isOwnMachine(host: string): boolean {
  if (host === 'localhost') return true;
  const family = isIP(host);
  return family !== 0 && own.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
