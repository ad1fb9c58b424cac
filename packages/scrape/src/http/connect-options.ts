/** How a fetcher connects: both loopback families for `localhost`, TLS as configured. */
import { type LookupAddress, type LookupOptions, lookup as systemLookup } from 'node:dns';
import { readFileSync } from 'node:fs';
import type { Client } from 'undici';

export interface ConnectSettings {
  /** Local address to connect from; empty: the system's choice. */
  localAddress: string;
  /** CA bundle for https; empty: the system's. Read when the fetcher is made. */
  tlsCaFile: string;
  /** `false` accepts any certificate: engines on a pod address rarely have a fitting one. */
  tlsVerify: boolean;
}

type LookupCallback = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/**
 * `localhost` is both loopback addresses, whatever the resolver says: many give `::1` first or
 * alone, while the engine listens on 127.0.0.1 only (or the other way round). The connection is
 * then tried to each in turn.
 */
export function lookup(hostname: string, options: LookupOptions, callback: LookupCallback): void {
  if (hostname !== 'localhost') {
    systemLookup(hostname, options, callback as never);
    return;
  }
  if (options.all === true) {
    const both = [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ];
    process.nextTick(callback, null, both);
  } else process.nextTick(callback, null, '127.0.0.1', 4);
}

/** Options of a client for one target, with one connection and one request on it at a time. */
export function clientOptions(settings: ConnectSettings, timeoutMs: number): Client.Options {
  return {
    pipelining: 1,
    allowH2: false,
    // The fetcher has one deadline over all of it.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
    // Not among `connect`: the client overrules one that stands there.
    ...(settings.localAddress === '' ? {} : { localAddress: settings.localAddress }),
    connect: {
      timeout: timeoutMs,
      autoSelectFamily: true,
      lookup: lookup as never,
      rejectUnauthorized: settings.tlsVerify,
      ...(settings.tlsCaFile === '' ? {} : { ca: readFileSync(settings.tlsCaFile) }),
    },
  };
}
