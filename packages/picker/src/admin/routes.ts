/**
 * What the picker's main thread tells people: which pools it serves and why one may be empty, and
 * what it knows of each endpoint. And one thing they may ask of it: to read its strategy file now.
 */
import type { FlowControlSnapshot } from '@leadsman/scheduling/shared/messages';
import { type EndpointJson, endpointJson } from '@leadsman/view/endpoint-json';
import type { ViewReader } from '@leadsman/view/reader';
import type { FastifyInstance } from 'fastify';
import type { PoolStatus } from '../pool/pool-registry.ts';
import type { SilentList } from './silent-ports.ts';

/** An endpoint of a pool; without the view's fields when it has not reported. */
export type PickerEndpointJson = {
  pool: string;
  destination: string;
  podUid: string;
  podName: string | null;
  namespace: string | null;
  state: string;
  /** Requests this picker sent to it that have not ended. */
  inFlight: number;
  /** Requests this picker sent to it since the start. */
  picks: number;
} & Partial<EndpointJson>;

export interface AdminDeps {
  pools: () => PoolStatus[];
  /** What the membership says about itself; undefined where it has nothing to say. */
  membership: () => object | undefined;
  /** Must belong to these routes alone. */
  reader: ViewReader;
  /** Members whose port never answered. */
  silentPorts: (pool: PoolStatus) => SilentList;
  /** Requests that wait for their turn; undefined where flow control is off. */
  waiting: (pool: string) => FlowControlSnapshot | undefined;
  inFlight: (index: number) => number;
  picks: (index: number) => number;
  nowMs: () => number;
  staleAfterMs: number;
  /** Reads the strategy file; the problems found, empty when it is in force. */
  reload: () => Promise<readonly string[]>;
}

/** Adds `/v1/pools`, `/v1/endpoints` and `/v1/reload`. */
export function addPickerRoutes(server: FastifyInstance, deps: AdminDeps): void {
  server.get('/v1/pools', () => ({
    pools: deps.pools().map((pool) => ({
      pool: pool.pool,
      version: pool.version,
      authorities: pool.authorities,
      endpoints: pool.endpoints.length,
      reasons: pool.reasons,
      neverAnswered: deps.silentPorts(pool),
      waiting: deps.waiting(pool.pool),
    })),
    membership: deps.membership(),
  }));
  server.get('/v1/endpoints', () => ({ endpoints: endpointsOf(deps) }));
  server.post('/v1/reload', async (_, reply) => {
    const problems = await deps.reload();
    if (problems.length === 0) return { reloaded: true };
    return reply.code(422).send({ reloaded: false, problems });
  });
}

function endpointsOf(deps: AdminDeps): PickerEndpointJson[] {
  const { reader } = deps;
  const nowMs = deps.nowMs();
  reader.refresh();
  const list: PickerEndpointJson[] = [];
  for (const { pool, endpoints } of deps.pools()) {
    for (const endpoint of endpoints) {
      const slot = reader.slotOf(endpoint.podKey, endpoint.port);
      const known = slot < 0 ? undefined : endpointJson(reader, slot, nowMs, deps.staleAfterMs);
      list.push({
        ...known,
        // The membership's word counts where a proxy stands before the scraped port.
        pool,
        destination: endpoint.destination,
        address: endpoint.address,
        port: endpoint.port,
        podUid: endpoint.podKey,
        podName: endpoint.podName || (known?.podName ?? null),
        namespace: endpoint.namespace || (known?.namespace ?? null),
        state: known?.state ?? 'unknown',
        inFlight: deps.inFlight(endpoint.index),
        picks: deps.picks(endpoint.index),
      });
    }
  }
  return list;
}
