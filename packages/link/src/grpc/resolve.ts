/**
 * From configured targets to the addresses of every replica behind them. A headless Service's
 * name gives one address per ready pod, so resolving is how replicas are found.
 */
import { lookup } from 'node:dns/promises';
import { formatHostPort } from '@leadsman/wire';

export interface Replica {
  /** `ip:port`. */
  address: string;
  /** The configured host, which is what its certificate names. */
  serverName: string;
}

export type LookupAll = (host: string) => Promise<readonly string[]>;

/** All addresses of a name, in the system's order. */
export const lookupAll: LookupAll = async (host) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map((found) => found.address);

export interface HostPort {
  host: string;
  port: number;
}

/** `host:port`, `[v6]:port`, with or without `grpc://`. Throws RangeError on anything else. */
export function parseHostPort(text: string): HostPort {
  const bare = text.replace(/^grpc:\/\//, '');
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(bare);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || !(port > 0 && port <= 0xffff)) {
    throw new RangeError(`"${text}" is not a host and port`);
  }
  return { host, port };
}

/** Replicas by address. A target that does not resolve now adds none. */
export async function resolveHosts(
  targets: readonly HostPort[],
  lookupHost: LookupAll,
): Promise<{ replicas: Map<string, Replica>; failed: string[] }> {
  const replicas = new Map<string, Replica>();
  const failed: string[] = [];
  for (const { host, port } of targets) {
    try {
      for (const ip of await lookupHost(host)) {
        const address = formatHostPort(ip, port);
        replicas.set(address, { address, serverName: host });
      }
    } catch {
      failed.push(host);
    }
  }
  return { replicas, failed };
}
