/**
 * One simulated picker replica: the scheduler that serves and the exchange that tells the other
 * replicas, with a clock, gauges, a transport and a random generator of ours.
 */

import type { Endpoint } from '@leadsman/scheduling/endpoint';
import { EndpointNames } from '@leadsman/scheduling/hub/replica/endpoint-names';
import { ReplicaExchange } from '@leadsman/scheduling/hub/replica/replica-exchange';
import { BlockHashes } from '@leadsman/scheduling/prefix/block-hash';
import { PrefixIndex } from '@leadsman/scheduling/prefix/prefix-index';
import { seededRandom } from '@leadsman/scheduling/random';
import { emptyPick, type RequestFacts } from '@leadsman/scheduling/scheduler';
import type { SchedulingConfig } from '@leadsman/scheduling/scheduling-config';
import { HistoryReader, HistoryWriter } from '@leadsman/scheduling/shared/history-ring';
import { createInFlightBuffer, InFlightTable } from '@leadsman/scheduling/shared/in-flight-table';
import { createSchedulingMemory } from '@leadsman/scheduling/shared/shared-memory';
import { policiesOf } from '@leadsman/scheduling/worker/build-policy';
import { WorkerScheduler } from '@leadsman/scheduling/worker/worker-scheduler';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { FleetGauges } from './fleet-gauges.ts';
import type { PolicyOptions } from './policy.ts';
import type { RoutingRequest } from './request.ts';

const poolName = 'bench';
/** As NATS allows by default. */
const messageBytesMax = 1_048_576;

export interface PickerReplicaOptions extends PolicyOptions {
  config: SchedulingConfig;
  /** Gets each message to the other replicas; its bytes are valid during the call only. */
  send(message: Uint8Array): void;
}

export class PickerReplica {
  readonly gauges: FleetGauges;
  readonly exchange: ReplicaExchange;
  readonly #scheduler: WorkerScheduler;
  readonly #pick = emptyPick();
  readonly #blocks = new BlockHashes();
  readonly #facts: RequestFacts = {
    requestId: '',
    poolName,
    model: '',
    prompt: undefined,
    blocks: this.#blocks,
    promptTokens: 0,
    maxOutputTokens: 0,
    streaming: true,
    computes: true,
    cacheIdentity: '',
    subset: undefined,
    header: () => undefined,
    nowMs: 0,
  };
  readonly #tickets = new Map<number, number>();
  readonly #blockTokens: number;

  constructor(options: PickerReplicaOptions, replica: number) {
    const { pods, config, kvCapacityTokens } = options;
    this.#blockTokens = options.blockTokens;
    const shape = { endpointsMax: pods, workers: 1 };
    const inFlight = new InFlightTable(createInFlightBuffer(shape), shape, 0);
    const memory = createSchedulingMemory(pods, 1, config.prefixIndex);
    const prefixIndex = new PrefixIndex(memory.prefix, memory.prefixShape);
    const endpoints = Array.from({ length: pods }, (_, pod) => endpoint(pod));
    this.gauges = new FleetGauges(
      endpoints.map(({ podKey }) => podKey),
      kvCapacityTokens,
    );
    this.#scheduler = new WorkerScheduler({
      source: this.gauges,
      inFlight,
      remote: memory.remote,
      prefixIndex,
      history: options.replicas > 1 ? new HistoryWriter(memory.histories[0]!) : undefined,
      random: seededRandom(options.seed * 31 + replica),
      policyFor: policiesOf(config, [], (_pool, _part, error) => {
        throw error;
      }),
    });
    const names = new EndpointNames();
    this.exchange = new ReplicaExchange({
      names,
      replicaId: podKeyFromUid(`replica-${replica}`),
      epoch: 1,
      inFlight,
      remote: memory.remote,
      prefixIndex,
      histories: [new HistoryReader(memory.histories[0]!)],
      config: config.replicas,
      messageBytesMax,
      send: (message) => {
        options.send(message);
        return true;
      },
    });
    const update = { pool: poolName, version: 1, authorities: [], objectives: {}, endpoints };
    this.#scheduler.updatePool(update, 0);
    names.update([update], []);
  }

  tick(nowMs: number): void {
    this.#scheduler.tick(nowMs);
  }

  pick(request: RoutingRequest, nowMs: number): number {
    this.#facts.promptTokens = request.promptTokens;
    this.#facts.nowMs = nowMs;
    hashBlocks(request.blocks, this.#blockTokens, this.#blocks);
    this.#scheduler.pick(this.#facts, this.#pick);
    const { endpoint, ticket, reason } = this.#pick;
    if (endpoint === undefined) throw new Error(`no pick: ${reason}`);
    this.#tickets.set(request.id, ticket);
    return endpoint.index;
  }

  firstToken(request: RoutingRequest): void {
    this.#scheduler.firstToken(this.#tickets.get(request.id)!);
  }

  finished(request: RoutingRequest): void {
    const outcome = { outputTokens: request.outputTokens, aborted: false };
    this.#scheduler.release(this.#tickets.get(request.id)!, outcome);
    this.#tickets.delete(request.id);
  }
}

function endpoint(pod: number): Endpoint {
  return {
    index: pod,
    podKey: podKeyText(podKeyFromUid(`pod-${pod}`)),
    address: `10.0.0.${pod}`,
    port: 8000,
    rank: 0,
    destination: `10.0.0.${pod}:8000`,
    podName: `pod-${pod}`,
    namespace: poolName,
    labels: {},
  };
}

/** Blocks as the index wants them: 64 bits each. */
function hashBlocks(blocks: ArrayLike<number>, blockTokens: number, into: BlockHashes): void {
  into.beginHashed(blockTokens);
  for (let i = 0; i < blocks.length; i++) {
    into.addHashed(mix(blocks[i]!), mix(blocks[i]! ^ 0x5bd1e995));
  }
}

/** MurmurHash3's finish: neighbouring numbers end up far apart, as block hashes do. */
function mix(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
