/**
 * What this replica tells the others: changed loads every share interval, all of them in a
 * keyframe each second, and the prompts its workers sent since, within a budget of bytes.
 *
 * Loads are absolute numbers read from the in-flight table, so nothing is queued here: a message
 * that cannot be sent is replaced by a keyframe at the next turn. Cost: four loads per endpoint
 * and turn.
 */
import { frameBytesMax, LedgerWriter, ledgerKind } from '@leadsman/wire';
import { blocksMax } from '../../prefix/block-hash.ts';
import type { HistoryReader, HistoryScratch } from '../../shared/history-ring.ts';
import { type InFlightTable, inFlightFields } from '../../shared/in-flight-table.ts';
import type { EndpointNames } from './endpoint-names.ts';
import type { RemoteReplica } from './remote-replica.ts';

export interface ReplicaSenderOptions {
  replicaId: Uint8Array;
  /** Rises with every start of this replica. */
  epoch: number;
  inFlight: InFlightTable;
  names: EndpointNames;
  histories: readonly HistoryReader[];
  keyframeIntervalMs: number;
  historyBytesPerSecond: number;
  /** Bytes of one message at most. */
  messageBytesMax: number;
  /** `false`: not sent. The bytes are valid during the call only. */
  send(message: Uint8Array): boolean;
}

/** A history record's bytes besides its blocks, and those of one block. */
const historyHeadBytes = 32;
const historyBlockBytes = 8;

export class ReplicaSender {
  /** History records left out for want of budget. */
  historyDropped = 0;
  historyBytes = 0;
  messages = 0;
  readonly #options: ReplicaSenderOptions;
  readonly #writer: LedgerWriter;
  readonly #scratch: HistoryScratch = {
    high: new Int32Array(blocksMax),
    low: new Int32Array(blocksMax),
    count: 0,
  };
  #sent = new Int32Array(0);
  #seq = 0;
  #keyframeAtMs = Number.NEGATIVE_INFINITY;
  #historyBudget = 0;
  #flushedAtMs = Number.NaN;
  /** The message under way is a keyframe that still fits. */
  #isWhole = false;
  #failed = false;

  constructor(options: ReplicaSenderOptions) {
    this.#options = options;
    this.#writer = new LedgerWriter(Math.min(frameBytesMax, options.messageBytesMax));
  }

  /** Sends what is due. `nowMs` is this machine's monotonic clock. */
  flush(nowMs: number, others: Iterable<RemoteReplica>): void {
    const { keyframeIntervalMs } = this.#options;
    const isKeyframe = this.#failed || nowMs - this.#keyframeAtMs >= keyframeIntervalMs;
    this.#failed = false;
    this.#isWhole = isKeyframe;
    this.#writer.begin();
    if (isKeyframe) {
      this.#keyframeAtMs = nowMs;
      for (const { id, sentAtMs, receivedAtMs } of others) {
        this.#writer.echo(id, sentAtMs, nowMs - receivedAtMs);
      }
    }
    const inFlight = this.#writeLoads(isKeyframe, nowMs);
    // The loads of a keyframe are one message, so that a receiver may take the rest for idle.
    if (isKeyframe) this.#end(nowMs);
    this.#writeHistories(nowMs);
    // Silence would look like lateness while requests are in flight.
    const isDue = this.#writer.records > 0 || (inFlight > 0 && !isKeyframe);
    if (isDue) this.#end(nowMs);
  }

  /** Tells the others that this replica stops. */
  leave(nowMs: number): void {
    this.#writer.begin();
    this.#emit(ledgerKind.leaving, nowMs);
  }

  /** Writes loads that changed, or all that are not 0; returns the requests in flight. */
  #writeLoads(isKeyframe: boolean, nowMs: number): number {
    const { inFlight, names } = this.#options;
    if (this.#sent.length < names.width * inFlightFields) this.#grow(names.width);
    let requests = 0;
    for (let index = 0; index < names.width; index++) {
      const endpoint = names.at(index);
      if (endpoint === undefined) continue;
      requests += Math.max(0, inFlight.totals[index * inFlightFields]!);
      let changed = false;
      let busy = false;
      for (let field = 0; field < inFlightFields; field++) {
        const at = index * inFlightFields + field;
        const value = Math.max(0, inFlight.totals[at]!);
        changed ||= value !== this.#sent[at];
        busy ||= value !== 0;
        this.#sent[at] = value;
      }
      if (isKeyframe ? busy : changed) this.#writeLoad(index, nowMs);
    }
    return requests;
  }

  #writeLoad(index: number, nowMs: number): void {
    const { podKey, port } = this.#options.names.at(index)!;
    const at = index * inFlightFields;
    const [requests = 0, pending = 0, decoding = 0, prompt = 0] = this.#sent.subarray(at, at + 4);
    if (this.#writer.load(podKey, port, requests, pending, decoding, prompt)) return;
    // Some 20,000 busy endpoints: more than one message, hence no keyframe that clears the rest.
    this.#isWhole = false;
    this.#end(nowMs);
    this.#writer.load(podKey, port, requests, pending, decoding, prompt);
  }

  #writeHistories(nowMs: number): void {
    const { historyBytesPerSecond, histories } = this.#options;
    const elapsedMs = Number.isNaN(this.#flushedAtMs) ? 0 : nowMs - this.#flushedAtMs;
    this.#flushedAtMs = nowMs;
    const earned = (historyBytesPerSecond * elapsedMs) / 1_000;
    // A second's worth may be saved up, for bursts.
    this.#historyBudget = Math.min(historyBytesPerSecond, this.#historyBudget + earned);
    for (const history of histories) {
      history.drain(this.#scratch, (index) => this.#writeHistory(index, nowMs));
    }
  }

  #writeHistory(index: number, nowMs: number): void {
    const endpoint = this.#options.names.at(index);
    const { high, low, count } = this.#scratch;
    const bytes = historyHeadBytes + count * historyBlockBytes;
    if (endpoint === undefined || bytes > this.#historyBudget) {
      this.historyDropped++;
      return;
    }
    this.#historyBudget -= bytes;
    this.historyBytes += bytes;
    const { podKey, port } = endpoint;
    if (this.#writer.history(podKey, port, high, low, count)) return;
    this.#end(nowMs);
    this.#writer.history(podKey, port, high, low, count);
  }

  /** Sends the message under way and begins another. */
  #end(nowMs: number): void {
    this.#emit(this.#isWhole ? ledgerKind.keyframe : ledgerKind.changes, nowMs);
    this.#isWhole = false;
    this.#writer.begin();
  }

  #emit(kind: number, nowMs: number): void {
    const { replicaId, epoch, send } = this.#options;
    const message = this.#writer.finish(kind, replicaId, epoch, ++this.#seq, nowMs);
    if (send(message)) this.messages++;
    else this.#failed = true;
  }

  #grow(width: number): void {
    const sent = new Int32Array(width * inFlightFields);
    sent.set(this.#sent);
    this.#sent = sent;
  }
}
