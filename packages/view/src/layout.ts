/**
 * The fleet view in memory: one shared buffer, one writer, any number of readers.
 *
 * ```
 * header      256 B           see headerWord
 * sequences   4 B × slotsMax  one i32 per slot, odd while the slot is written (sequence.ts)
 * bodies    320 B × slotsMax
 *     0 f64 received at, monotonic ms       8 f64 measured at, monotonic ms
 *    16 u32 generation                     20 u32 attributes version (0 none)
 *    24 u32 1 used, 0 empty                28 u32 reserved
 *    32 288 B report, its numbers those of this version, NaN where the sender knows fewer
 * attributes 2,056 B × slotsMax
 *     0 u32 bytes                            4 u32 reserved          8 record as on the wire
 * ```
 *
 * Sequences lie together, so that finding what changed among 1,000 slots reads 63 cache lines;
 * attributes lie apart, as they change once in a pod's life. The buffer is sized for `slotsMax`
 * at creation; the operating system backs only the pages that were written (docs/adr/0002).
 *
 * Times are `monotonicMs` of the writer's machine, which every thread and process of it shares.
 * Words are used as they lie on the wire, so the machine must be little-endian.
 */
import { attributesBytesMax, reportBytes } from '@leadsman/wire';
import { ViewError, viewErrorCode } from './error.ts';

/** "LDV1" read as a little-endian i32. */
const viewMagic = 0x3156444c;
/** Reader and writer are of one build; a slot of version 2 has room for a report of version 2. */
const viewVersion = 2;

/** Positions of the i32 words of the header. All are read and written by Atomics. */
export const headerWord = {
  magic: 0,
  version: 1,
  slotsMax: 2,
  /** Slots from here on were never used. Only grows. */
  slots: 3,
  /** Counts finished frames: as long as it stands, no slot has changed. */
  commits: 4,
  /** Counts writers: the newest one owns the view. */
  writer: 5,
  /** `monotonicMs` of the writer's last sign of life, wrapped to 32 bits. */
  heartbeat: 6,
  /** One of {@link feedState}. */
  feed: 7,
  /** 1 once the feed was complete in this view's life. */
  everSynced: 8,
  /** Reports refused as every slot was taken, wrapped to 32 bits. */
  droppedFull: 9,
  /** Bytes of a slot's report: a view of another size is none of ours. */
  reportBytes: 10,
} as const;

/** How far the view's source of frames has come. */
export const feedState = {
  /** Not connected since the view was made. */
  never: 0,
  /** Was connected, is not now. What the view holds ages. */
  disconnected: 1,
  /** Connected, but not for a whole keyframe interval: endpoints may be missing. */
  syncing: 2,
  /** Every living endpoint has been heard of. */
  synced: 3,
} as const;

export type FeedState = (typeof feedState)[keyof typeof feedState];

const headerBytes = 256;
export const bodyBytes = 32 + reportBytes;
export const bodyWords = bodyBytes / 8;
export const attributesSlotBytes = 8 + attributesBytesMax;

/** Float64 positions within a body. */
export const bodyWord = {
  receivedAtMs: 0,
  measuredAtMs: 1,
  report: 4,
} as const;

/** Int32 positions within a body. */
export const bodyInt = {
  generation: 4,
  attributesVersion: 5,
  used: 6,
} as const;

/** Most slots of one view: ten times the fleet the design speaks of. */
export const slotsLimit = 131_072;

if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1) {
  throw new ViewError(viewErrorCode.viewFormat, 'the view needs a little-endian machine');
}

/**
 * Makes an empty view, in memory of all zeroes that `allocate` gives; where the memory holds one already, of so many slots, that one stays.
 * Throws {@link ViewError} `bounds`.
 */
export function createView(
  options: { slotsMax: number },
  allocate: (bytes: number) => ArrayBufferLike = (bytes) => new SharedArrayBuffer(bytes),
): ArrayBufferLike {
  const { slotsMax } = options;
  if (!Number.isInteger(slotsMax) || slotsMax < 1 || slotsMax > slotsLimit) {
    throw new ViewError(viewErrorCode.bounds, `slotsMax ${slotsMax}`);
  }
  const shared = allocate(viewBytes(slotsMax));
  const header = new Int32Array(shared, 0, headerBytes / 4);
  Atomics.store(header, headerWord.version, viewVersion);
  Atomics.store(header, headerWord.slotsMax, slotsMax);
  Atomics.store(header, headerWord.reportBytes, reportBytes);
  Atomics.store(header, headerWord.magic, viewMagic);
  return shared;
}

/** Size of a view's address space in bytes; memory is used only for slots that were written. */
export function viewBytes(slotsMax: number): number {
  return attributesOffset(slotsMax) + slotsMax * attributesSlotBytes;
}

function bodiesOffset(slotsMax: number): number {
  return headerBytes + Math.ceil((slotsMax * 4) / 64) * 64;
}

function attributesOffset(slotsMax: number): number {
  return bodiesOffset(slotsMax) + slotsMax * bodyBytes;
}

/** Typed arrays over a view's parts. Throws {@link ViewError} when it is no view. */
export class ViewMemory {
  readonly slotsMax: number;
  readonly header: Int32Array<ArrayBufferLike>;
  readonly sequences: Int32Array<ArrayBufferLike>;
  readonly bodyFloats: Float64Array<ArrayBufferLike>;
  readonly bodyInts: Int32Array<ArrayBufferLike>;
  readonly attributeView: DataView<ArrayBufferLike>;
  readonly attributes: Uint8Array<ArrayBufferLike>;

  constructor(shared: ArrayBufferLike) {
    if (shared.byteLength < headerBytes) wrongFormat('too short');
    this.header = new Int32Array(shared, 0, headerBytes / 4);
    if (Atomics.load(this.header, headerWord.magic) !== viewMagic) wrongFormat('magic');
    if (Atomics.load(this.header, headerWord.version) !== viewVersion) wrongFormat('version');
    if (Atomics.load(this.header, headerWord.reportBytes) !== reportBytes) wrongFormat('report');
    const slotsMax = Atomics.load(this.header, headerWord.slotsMax);
    if (slotsMax < 1 || shared.byteLength !== viewBytes(slotsMax)) wrongFormat('size');
    this.slotsMax = slotsMax;
    this.sequences = new Int32Array(shared, headerBytes, slotsMax);
    const bodies = bodiesOffset(slotsMax);
    this.bodyFloats = new Float64Array(shared, bodies, slotsMax * bodyWords);
    this.bodyInts = new Int32Array(shared, bodies, slotsMax * bodyWords * 2);
    const attributes = attributesOffset(slotsMax);
    this.attributeView = new DataView(shared, attributes);
    this.attributes = new Uint8Array(shared, attributes);
  }
}

function wrongFormat(what: string): never {
  throw new ViewError(viewErrorCode.viewFormat, `not a fleet view of ours: ${what}`);
}
