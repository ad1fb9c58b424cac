/**
 * Makes the replicas of a picker count each other's requests and learn of each other's prompts.
 *
 * ```
 * in-flight table ──ReplicaSender──> transport ──receive──> RemoteReplica ──> remote words ─┐
 * workers' history rings ──^                         └────> prefix index                    v
 *                                                                              ledger of every worker
 * ```
 *
 * Lives in the main thread. The transport is the caller's (NATS in production); both directions
 * are synchronous and take the time as an argument, so a simulation can delay messages at will.
 *
 * Rules: order by (replica, epoch, seq), repeats dropped; a silent replica expires; one whose
 * messages come more than `delayMsMax` late does not count with its requests (acting on old
 * in-flight numbers herds more than ignoring them), but its prompts still teach the index.
 */
import {
  LedgerReader,
  ledgerKind,
  ledgerLoadFields,
  ledgerRecord,
  WireError,
} from '@leadsman/wire';
import { BlockHashes } from '../../prefix/block-hash.ts';
import type { PrefixIndex } from '../../prefix/prefix-index.ts';
import type { ReplicasConfig } from '../../scheduling-config.ts';
import type { HistoryReader } from '../../shared/history-ring.ts';
import type { InFlightTable } from '../../shared/in-flight-table.ts';
import { RemoteWords } from '../../shared/remote-words.ts';
import type { EndpointNames } from './endpoint-names.ts';
import { RemoteReplica } from './remote-replica.ts';
import { ReplicaSender } from './replica-sender.ts';

/** More replicas than any deployment has; a name that changes at every message ends here. */
const replicasMax = 64;

export interface ReplicaExchangeOptions {
  /** 16 bytes, made from this replica's name. */
  replicaId: Uint8Array;
  /** Rises with every start of this replica, at least 1. */
  epoch: number;
  inFlight: InFlightTable;
  /** The shared words of `createRemoteBuffer`. */
  remote: ArrayBufferLike;
  prefixIndex: PrefixIndex;
  /** What endpoints are called on the wire; kept current by the owner, see {@link ReplicaExchange.forget}. */
  names: EndpointNames;
  /** One ring per worker. */
  histories: readonly HistoryReader[];
  config: ReplicasConfig;
  messageBytesMax: number;
  /** `false`: not sent. The bytes are valid during the call only. */
  send(message: Uint8Array): boolean;
}

export interface ReplicaCounters {
  messages: number;
  malformed: number;
  repeated: number;
  missed: number;
  /** Messages under this replica's own id by another process: two replicas share a name. */
  nameConflicts: number;
  /** Loads and prompts for endpoints that this process does not know. */
  unknownEndpoints: number;
  refusedReplicas: number;
  historyRecords: number;
}

export class ReplicaExchange {
  readonly counters: ReplicaCounters = {
    messages: 0,
    malformed: 0,
    repeated: 0,
    missed: 0,
    nameConflicts: 0,
    unknownEndpoints: 0,
    refusedReplicas: 0,
    historyRecords: 0,
  };
  readonly sender: ReplicaSender;
  readonly #options: ReplicaExchangeOptions;
  readonly #words: RemoteWords;
  readonly #names: EndpointNames;
  readonly #replicas = new Map<string, RemoteReplica>();
  readonly #reader = new LedgerReader();
  readonly #hashes = new BlockHashes();

  constructor(options: ReplicaExchangeOptions) {
    this.#options = options;
    this.#words = new RemoteWords(options.remote);
    this.#names = options.names;
    this.sender = new ReplicaSender({ ...options, ...options.config });
  }

  /** Other replicas that were heard of and have not expired. */
  get replicas(): ReadonlyMap<string, RemoteReplica> {
    return this.#replicas;
  }

  /** Indexes in `changed` stand for other endpoints now: what was said of the old is forgotten. */
  forget(changed: readonly number[]): void {
    for (const index of changed) {
      for (const replica of this.#replicas.values()) replica.forget(index);
    }
  }

  /** Tells the others what changed, and judges who still counts. Call each share interval. */
  flush(nowMs: number): void {
    this.#judge(nowMs);
    this.sender.flush(nowMs, this.#replicas.values());
  }

  /** Takes a message of any replica, this one's own included (they are skipped). Never throws. */
  receive(message: Uint8Array, nowMs: number): void {
    const reader = this.#reader;
    try {
      reader.load(message);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.counters.malformed++;
      return;
    }
    const replica = this.#senderOf(reader, nowMs);
    if (replica === undefined) return;
    this.counters.messages++;
    replica.beginLoads();
    while (reader.next()) {
      if (reader.type === ledgerRecord.load) this.#takeLoad(reader, replica);
      else if (reader.type === ledgerRecord.history) this.#takeHistory(reader);
      else if (reader.isEchoFor(this.#options.replicaId)) {
        replica.delay.echoed(reader.echoSentAtMs, reader.echoHeldMs, nowMs);
      }
    }
    if (reader.kind === ledgerKind.keyframe) replica.endKeyframe();
    replica.delay.received(reader.sentAtMs, nowMs);
    replica.sentAtMs = reader.sentAtMs;
    replica.receivedAtMs = nowMs;
    this.#judgeOne(replica, nowMs);
  }

  /** Tells the others that this replica stops. */
  leave(nowMs: number): void {
    this.sender.leave(nowMs);
  }

  /** The largest delay among the other replicas, ms; 0 when there are none. */
  delayMs(nowMs: number): number {
    let delayMs = 0;
    for (const replica of this.#replicas.values()) {
      delayMs = Math.max(delayMs, replica.delayMs(nowMs, this.#options.config.shareIntervalMs));
    }
    return delayMs;
  }

  /** The replica a message is of; `undefined`: not to be taken. */
  #senderOf(reader: LedgerReader, nowMs: number): RemoteReplica | undefined {
    const text = reader.replicaText();
    if (isSame(reader.replicaId(), this.#options.replicaId)) {
      if (reader.epoch > this.#options.epoch) this.counters.nameConflicts++;
      return undefined;
    }
    let replica = this.#replicas.get(text);
    if (reader.kind === ledgerKind.leaving) {
      if (replica !== undefined && reader.epoch >= replica.epoch) this.#drop(text, replica);
      return undefined;
    }
    if (replica === undefined) {
      if (this.#replicas.size >= replicasMax) {
        this.counters.refusedReplicas++;
        return undefined;
      }
      replica = new RemoteReplica(reader.replicaId(), this.#words);
      replica.receivedAtMs = nowMs;
      this.#replicas.set(text, replica);
    }
    if (reader.epoch > replica.epoch) replica.reset(reader.epoch);
    else if (reader.epoch < replica.epoch || reader.seq <= replica.seq) {
      this.counters.repeated++;
      return undefined;
    }
    if (replica.seq > 0) this.counters.missed += reader.seq - replica.seq - 1;
    replica.seq = reader.seq;
    return replica;
  }

  #takeLoad(reader: LedgerReader, replica: RemoteReplica): void {
    const index = this.#names.indexOf(reader.target());
    if (index < 0) {
      this.counters.unknownEndpoints++;
      return;
    }
    for (let field = 0; field < ledgerLoadFields; field++) {
      replica.set(index, field, reader.loadField(field));
    }
  }

  #takeHistory(reader: LedgerReader): void {
    const index = this.#names.indexOf(reader.target());
    if (index < 0) {
      this.counters.unknownEndpoints++;
      return;
    }
    this.#hashes.count = reader.historyBlocks(this.#hashes.high, this.#hashes.low);
    this.#options.prefixIndex.enter(index, this.#hashes, false);
    this.counters.historyRecords++;
  }

  #judge(nowMs: number): void {
    for (const [text, replica] of this.#replicas) {
      if (nowMs - replica.receivedAtMs > this.#options.config.expireAfterMs) {
        this.#drop(text, replica);
      } else this.#judgeOne(replica, nowMs);
    }
    this.#countReplicas(nowMs);
  }

  #judgeOne(replica: RemoteReplica, nowMs: number): void {
    const { shareIntervalMs, delayMsMax } = this.#options.config;
    const before = replica.isCounted;
    replica.judge(nowMs, shareIntervalMs, delayMsMax);
    if (replica.isCounted !== before) this.#countReplicas(nowMs);
  }

  #drop(text: string, replica: RemoteReplica): void {
    replica.leave();
    this.#replicas.delete(text);
  }

  #countReplicas(nowMs: number): void {
    const { shareIntervalMs } = this.#options.config;
    let counted = 0;
    let delayMs = 0;
    for (const replica of this.#replicas.values()) {
      if (!replica.isCounted) continue;
      counted++;
      delayMs = Math.max(delayMs, replica.delayMs(nowMs, shareIntervalMs));
    }
    this.#words.setReplicas(counted, counted === 0 ? 0 : shareIntervalMs + delayMs);
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}
