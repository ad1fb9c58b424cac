/**
 * Which pool an exchange is for. A picker may serve several; in this order they are told apart by
 *   1. gRPC metadata `x-leadsman-pool`, set by the gateway's configuration: `namespace/name`
 *   2. `:authority` of the call, when it names a service of a pool: `<service>.<namespace>[.svc…]`
 *   3. the port the call came in on, where ports are assigned to pools
 *   4. the only pool there is
 *
 * Metadata that names no pool is an error at once: somebody meant something by it. An authority
 * that names none is not, since it may be the name of a cluster or of any service in front; and one
 * that several pools share names none.
 */

export const poolMetadata = 'x-leadsman-pool';

/** In the place of a name: several pools are called by this authority, so it tells none of them. */
const shared = '';

export interface PoolRoute {
  /** `namespace/name`. */
  name: string;
  /** `service.namespace`, in lower case. */
  authorities: readonly string[];
}

export class PoolSelector {
  readonly #names = new Set<string>();
  readonly #byAuthority = new Map<string, string>();
  readonly #byPort: ReadonlyMap<number, string>;
  #only: string | undefined;

  constructor(byPort: ReadonlyMap<number, string> = new Map()) {
    this.#byPort = byPort;
  }

  /** Replaces the pools that can be selected. */
  setPools(pools: readonly PoolRoute[]): void {
    this.#names.clear();
    this.#byAuthority.clear();
    for (const { name, authorities } of pools) {
      this.#names.add(name);
      for (const authority of authorities) {
        const host = authority.toLowerCase();
        const other = this.#byAuthority.get(host);
        this.#byAuthority.set(host, other === undefined || other === name ? name : shared);
      }
    }
    this.#only = pools.length === 1 ? pools[0]!.name : undefined;
  }

  /** The pool of a call; undefined when it cannot be told. */
  select(metadata: string | undefined, authority: string, port: number): string | undefined {
    if (metadata !== undefined && metadata !== '') {
      return this.#names.has(metadata) ? metadata : undefined;
    }
    const named = this.#poolOfAuthority(authority);
    if (named !== undefined && named !== shared) return named;
    return this.#byPort.get(port) ?? this.#only;
  }

  #poolOfAuthority(authority: string): string | undefined {
    if (this.#byAuthority.size === 0) return undefined;
    const host = authority.toLowerCase().replace(/:\d+$/, '');
    const exact = this.#byAuthority.get(host);
    if (exact !== undefined) return exact;
    const [service, namespace, svc] = host.split('.');
    return svc === undefined || svc === 'svc'
      ? this.#byAuthority.get(`${service}.${namespace}`)
      : undefined;
  }
}
