/**
 * Whether this picker should get traffic, as `grpc.health.v1` tells it: one state, asked on the
 * ext_proc port, on the health port and by people.
 *
 *   liveness   SERVING as long as the process answers: a restart would not help a picker whose
 *              view is empty or that waits as a standby
 *   readiness, the ext_proc service and '' (the server as a whole)
 *              SERVING once view and membership are synced, until the drain begins
 */

export const ServingStatus = { unknown: 0, serving: 1, notServing: 2, serviceUnknown: 3 } as const;
export type ServingStatus = (typeof ServingStatus)[keyof typeof ServingStatus];

export const extProcService = 'envoy.service.ext_proc.v3.ExternalProcessor';

/** All services that can be asked about. */
export const healthServices = ['', 'liveness', 'readiness', extProcService] as const;

export class HealthState {
  #synced = false;
  #draining = false;
  readonly #watchers = new Set<() => void>();

  /** Whether view and membership are complete. */
  setSynced(synced: boolean): void {
    if (synced === this.#synced) return;
    this.#synced = synced;
    this.#tell();
  }

  /** From now on new work should go elsewhere. There is no way back. */
  startDraining(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#tell();
  }

  get ready(): boolean {
    return this.#synced && !this.#draining;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** The status of a service; `serviceUnknown` for a name that is not one of ours. */
  status(service: string): ServingStatus {
    if (service === 'liveness') return ServingStatus.serving;
    if (!(healthServices as readonly string[]).includes(service)) {
      return ServingStatus.serviceUnknown;
    }
    return this.ready ? ServingStatus.serving : ServingStatus.notServing;
  }

  /** Calls back on each change until the returned function is called. */
  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange);
    return () => this.#watchers.delete(onChange);
  }

  #tell(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }
}
