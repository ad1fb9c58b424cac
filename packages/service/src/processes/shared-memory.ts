/**
 * Memory that several processes see at once: a file without a name or a disk behind it, which the
 * parent makes and its children inherit.
 *
 * ```
 * parent  SharedMemory.create()      allocate(a) allocate(b) …   the file grows
 * child   SharedMemory.inherited()   allocate(a) allocate(b) …   the same places, in the same order
 * ```
 *
 * Both sides ask for the same sizes in the same order, by the same code. The operating system backs
 * only pages that were written, and takes them back when the last process that maps them ends.
 * What a process wrote stays when it dies, half of a write as well: each table over this memory has
 * to say how it bears that.
 *
 * The buffers are ArrayBuffers, since Node cannot make a SharedArrayBuffer of foreign memory. Plain
 * accesses and `Atomics` compile to the same instructions on both; only `Atomics.wait` is not for
 * them. See docs/adr/0014-workers-are-processes.md.
 */
import { closeSync, fstatSync, ftruncateSync } from 'node:fs';
import { systemCalls } from './system-calls.ts';

/** Where one buffer lies in the file, bytes. */
export interface MemoryRegion {
  offset: number;
  bytes: number;
}

/** Gives memory that is all zero when it is new. */
export type AllocateShared = (bytes: number) => ArrayBufferLike;

/** For threads of one process, and for tests. */
export const allocateInProcess: AllocateShared = (bytes) => new SharedArrayBuffer(bytes);

/** The number under which a child finds the file; 0 to 2 are its streams, 3 is its channel. */
const inheritedMemoryFd = 4;

/** A region begins at a page's begin, on machines with pages of up to 64 KB. */
const alignmentBytes = 65_536;

export class SharedMemory {
  readonly fd: number;
  readonly #grows: boolean;
  readonly #regions = new Map<ArrayBufferLike, MemoryRegion>();
  #end = 0;

  private constructor(fd: number, grows: boolean) {
    this.fd = fd;
    this.#grows = grows;
  }

  /** Makes an empty one. Throws `SystemCallsMissing` where that cannot be done. */
  static create(name: string): SharedMemory {
    return new SharedMemory(systemCalls().memoryFile(name), true);
  }

  /** The one that this process got from its parent. */
  static inherited(): SharedMemory {
    return new SharedMemory(inheritedMemoryFd, false);
  }

  /** The next so many bytes. A child throws when its parent has not allocated as much. */
  readonly allocate = (bytes: number): ArrayBuffer => {
    const region = { offset: this.#end, bytes };
    this.#end += Math.ceil(bytes / alignmentBytes) * alignmentBytes;
    if (this.#grows) ftruncateSync(this.fd, this.#end);
    const buffer = this.map(region);
    this.#regions.set(buffer, region);
    return buffer;
  };

  /** Where a buffer lies that {@link allocate} gave. */
  regionOf(buffer: ArrayBufferLike): MemoryRegion {
    const region = this.#regions.get(buffer);
    if (region === undefined) throw new RangeError('not a buffer of this memory');
    return region;
  }

  /**
   * The bytes of a region, until the process ends. Throws RangeError beyond the file's end, where
   * an access would kill the process.
   */
  map(region: MemoryRegion): ArrayBuffer {
    if (region.offset + region.bytes > fstatSync(this.fd).size) {
      throw new RangeError(`no ${region.bytes} bytes at ${region.offset} of the shared memory`);
    }
    return systemCalls().mapShared(this.fd, region.offset, region.bytes);
  }

  /** No child can inherit it from here on. Buffers stay as they are. */
  close(): void {
    closeSync(this.fd);
  }
}
