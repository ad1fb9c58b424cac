/**
 * Which pool a stream is for. In order: gRPC metadata `x-leadsman-pool`, the `:authority` of the
 * call, the port it came in on, the only pool there is.
 *
 * A gateway names the picker's Service in `:authority` in one of many spellings
 * (`svc`, `svc.ns`, `svc.ns.svc`, `svc.ns.svc.cluster.local`, each with or without a port). All
 * that begin with `service.namespace` mean that Service; a bare `service` counts when only one
 * pool's Service has that name.
 */
import type { PoolUpdate } from './endpoint.ts';

export class PoolDirectory {
  readonly #poolOfPort: ReadonlyMap<number, string>;
  readonly #pools = new Map<string, readonly string[]>();
  #poolOfAuthority = new Map<string, string>();
  /** What authorities resolved to; they recur with every stream of a connection. */
  readonly #resolved = new Map<string, string | undefined>();

  /** `poolOfPort`: ports that serve one pool each, if the admin set any. */
  constructor(poolOfPort: ReadonlyMap<number, string> = new Map()) {
    this.#poolOfPort = poolOfPort;
  }

  setPool(update: Pick<PoolUpdate, 'pool' | 'authorities'>): void {
    this.#pools.set(update.pool, update.authorities);
    this.#index();
  }

  removePool(pool: string): void {
    this.#pools.delete(pool);
    this.#index();
  }

  get size(): number {
    return this.#pools.size;
  }

  /**
   * The name of the pool, `undefined` when none fits. Metadata that names an unknown pool, and a
   * port whose pool is unknown, resolve to nothing rather than to another pool.
   */
  resolve(metadata: string | undefined, authority: string, port: number): string | undefined {
    if (metadata !== undefined && metadata !== '') {
      return this.#pools.has(metadata) ? metadata : undefined;
    }
    const named = this.#byAuthority(authority);
    if (named !== undefined) return named;
    const ofPort = this.#poolOfPort.get(port);
    if (ofPort !== undefined) return this.#pools.has(ofPort) ? ofPort : undefined;
    if (this.#pools.size !== 1) return undefined;
    for (const pool of this.#pools.keys()) return pool;
    return undefined;
  }

  #byAuthority(authority: string): string | undefined {
    if (this.#resolved.has(authority)) return this.#resolved.get(authority);
    const host = authority.replace(/:\d+$/, '').toLowerCase();
    const [service = '', namespace] = host.split('.');
    const pool =
      this.#poolOfAuthority.get(host) ??
      (namespace === undefined
        ? this.#poolOfAuthority.get(service)
        : this.#poolOfAuthority.get(`${service}.${namespace}`));
    // Peers choose the text, so it must not grow without bound.
    if (this.#resolved.size >= 1_024) this.#resolved.clear();
    this.#resolved.set(authority, pool);
    return pool;
  }

  #index(): void {
    const index = new Map<string, string>();
    const ambiguous = new Set<string>();
    const add = (name: string, pool: string) => {
      if (index.get(name) !== undefined && index.get(name) !== pool) ambiguous.add(name);
      index.set(name, pool);
    };
    for (const [pool, authorities] of this.#pools) {
      for (const authority of authorities) {
        const lower = authority.toLowerCase();
        add(lower, pool);
        const [service = ''] = lower.split('.');
        add(service, pool);
      }
    }
    for (const name of ambiguous) index.delete(name);
    this.#poolOfAuthority = index;
    this.#resolved.clear();
  }
}
