/**
 * Reads one request body for its fields while it passes through: JSON as it is, gzip through a
 * bounded copy. The bytes themselves are neither kept nor changed here.
 *
 * A chunk of ordinary size is scanned at once. A large one (a buffered body arrives as a single
 * message) is scanned in slices with the event loop in between, and gzip is inflated by Node's
 * thread pool; so `finish` may answer later, and no body blocks the loop for longer than one slice.
 */
import { constants, createGunzip, type Gunzip } from 'node:zlib';
import { Counter, type Counters } from '../counters.ts';
import { header } from '../headers.ts';
import type { HeaderList } from '../protobuf/header-list.ts';
import type { RateLimitedLog } from '../rate-limited-log.ts';
import { RequestFields } from './request-fields.ts';

/** One slice takes 1 to 2 ms, and one slice is scanned per turn of the event loop, of all bodies. */
const sliceBytes = 262_144;

/** Field readers kept for reuse; each may hold half a MB of prompt. */
const idleReadersMax = 32;

/** gzip streams at once per worker; each holds about 50 KB and a place in the thread pool. */
const inflatingMax = 64;

/** What the readers of one worker share. */
export class BodyReaders {
  readonly counters: Counters;
  readonly log: RateLimitedLog;
  /** Decoded bytes that are read of one body. */
  readonly bodyBytesMax: number;
  inflating = 0;
  readonly #idle: RequestFields[] = [];
  /** Slices that wait for their turn; at most one per body. */
  readonly #turns: (() => void)[] = [];

  constructor(bodyBytesMax: number, counters: Counters, log: RateLimitedLog) {
    this.bodyBytesMax = bodyBytesMax;
    this.counters = counters;
    this.log = log;
  }

  /** A reader for a body with these headers; undefined where there are no fields to be had. */
  open(headers: HeaderList): BodyReader | undefined {
    const type = headers.get(header.contentType);
    if (type !== undefined && !type.toLowerCase().includes('json')) return undefined;
    const encoding = headers.get(header.contentEncoding)?.trim().toLowerCase() ?? '';
    if (encoding === '' || encoding === 'identity') return new BodyReader(this, false);
    if ((encoding === 'gzip' || encoding === 'x-gzip') && this.inflating < inflatingMax) {
      return new BodyReader(this, true);
    }
    this.counters.add(Counter.undecodable_bodies);
    return undefined;
  }

  /** Runs `slice` in a later turn of the event loop, alone. */
  inTurn(slice: () => void): void {
    this.#turns.push(slice);
    if (this.#turns.length === 1) setImmediate(() => this.#nextTurn());
  }

  #nextTurn(): void {
    const slice = this.#turns[0]!;
    try {
      slice();
    } finally {
      this.#turns.shift();
      if (this.#turns.length > 0) setImmediate(() => this.#nextTurn());
    }
  }

  borrow(): RequestFields {
    const fields = this.#idle.pop() ?? new RequestFields();
    fields.reset();
    return fields;
  }

  giveBack(fields: RequestFields): void {
    if (this.#idle.length < idleReadersMax) this.#idle.push(fields);
  }
}

export class BodyReader {
  readonly #readers: BodyReaders;
  #fields: RequestFields | undefined;
  #gunzip: Gunzip | undefined;
  #inflatedBytes = 0;
  #slices: Uint8Array[] = [];
  #sliceAt = 0;
  #done: (() => void) | undefined;

  constructor(readers: BodyReaders, gzip: boolean) {
    this.#readers = readers;
    this.#fields = readers.borrow();
    if (gzip) this.#startGunzip();
  }

  /** What was read so far; undefined when the body cannot be read. Valid until `close`. */
  get fields(): RequestFields | undefined {
    return this.#fields;
  }

  feed(chunk: Uint8Array): void {
    if (this.#fields === undefined) return;
    if (this.#gunzip !== undefined) {
      this.#gunzip.write(chunk);
    } else if (this.#slices.length > 0 || chunk.length > sliceBytes) {
      this.#slices.push(chunk);
      if (this.#slices.length === 1) this.#readers.inTurn(() => this.#scanSlice());
    } else {
      this.#scan(chunk, 0, chunk.length);
    }
  }

  /** Calls back, perhaps at once, when everything fed has been read. Once. */
  finish(done: () => void): void {
    this.#done = done;
    if (this.#gunzip !== undefined) this.#gunzip.end();
    else if (this.#slices.length === 0) this.#finished();
  }

  /** Ends the reading wherever it is; `done` is not called any more. */
  close(): void {
    this.#done = undefined;
    this.#slices = [];
    this.#stopGunzip();
    if (this.#fields !== undefined) this.#readers.giveBack(this.#fields);
    this.#fields = undefined;
  }

  /** Runs from messages, turns and the inflater alike: a fault of ours must only cost the fields. */
  #scan(chunk: Uint8Array, from: number, to: number): void {
    try {
      const scanner = this.#fields!.scanner;
      scanner.feed(chunk, from, to);
      if (scanner.failed) this.#giveUp(Counter.unparseable_bodies);
    } catch (error) {
      this.#readers.log.fault('body', error);
      this.#giveUp(Counter.handler_errors);
    }
  }

  /** Scans one slice's worth of what waits: part of a chunk, or many small ones. */
  #scanSlice(): void {
    let left = sliceBytes;
    while (left > 0 && this.#slices.length > 0 && this.#fields !== undefined) {
      const chunk = this.#slices[0]!;
      const to = Math.min(chunk.length, this.#sliceAt + left);
      left -= to - this.#sliceAt;
      this.#scan(chunk, this.#sliceAt, to);
      this.#sliceAt = to;
      if (to < chunk.length) break;
      this.#slices.shift();
      this.#sliceAt = 0;
    }
    if (this.#fields === undefined) this.#slices = [];
    if (this.#slices.length === 0) this.#finished();
    else this.#readers.inTurn(() => this.#scanSlice());
  }

  #startGunzip(): void {
    const gunzip = createGunzip({ chunkSize: 65_536, finishFlush: constants.Z_SYNC_FLUSH });
    this.#gunzip = gunzip;
    this.#readers.inflating++;
    gunzip.on('data', (chunk: Buffer) => {
      if (this.#fields === undefined) return;
      this.#inflatedBytes += chunk.length;
      if (this.#inflatedBytes > this.#readers.bodyBytesMax) {
        this.#giveUp(Counter.undecodable_bodies);
      } else {
        this.#scan(chunk, 0, chunk.length);
      }
    });
    gunzip.on('end', () => this.#finished());
    gunzip.on('error', () => {
      this.#giveUp(Counter.undecodable_bodies);
    });
  }

  /** The body tells nothing: the pick will be made without it. */
  #giveUp(counter: number): void {
    if (this.#fields === undefined) return;
    this.#readers.counters.add(counter);
    this.#readers.giveBack(this.#fields);
    this.#fields = undefined;
    if (this.#gunzip === undefined) return;
    this.#stopGunzip();
    this.#finished();
  }

  #finished(): void {
    this.#stopGunzip();
    const done = this.#done;
    this.#done = undefined;
    done?.();
  }

  #stopGunzip(): void {
    const gunzip = this.#gunzip;
    if (gunzip === undefined) return;
    this.#gunzip = undefined;
    this.#readers.inflating--;
    gunzip.removeAllListeners();
    gunzip.on('error', () => {});
    gunzip.destroy();
  }
}
