/**
 * The few calls of the C library that Node has no function for, by `node:ffi`.
 *
 * They are looked up in the running process, which is linked to whatever C library it came with,
 * so glibc and musl need no names of their own. Loading the module prints a warning that it is
 * experimental; that one warning is dropped, others are not touched.
 */
import type * as Ffi from 'node:ffi';

export interface SystemCalls {
  /** Maps `bytes` of a file from `offset` on, shared and writable. Throws when refused. */
  mapShared(fd: number, offset: number, bytes: number): ArrayBuffer;
  /** A file in memory without a name, closed at `exec`. Throws when refused. */
  memoryFile(name: string): number;
  /** The kernel ends this process by SIGKILL as soon as its parent has ended. */
  dieWithParent(): void;
}

/** `node:ffi` is not in this Node. */
class SystemCallsMissing extends Error {
  override readonly name = 'SystemCallsMissing';
}

const readAndWrite = 3;
const mapSharedFlag = 1;
const closeOnExec = 1;
const setParentDeathSignal = 1;
const sigkill = 9n;
/** What `mmap` returns when it refuses: all bits set. */
const mapFailed = 0xffff_ffff_ffff_ffffn;

const definitions = {
  mmap: {
    arguments: ['pointer', 'u64', 'i32', 'i32', 'i32', 'i64'],
    return: 'pointer',
  },
  memfd_create: { arguments: ['string', 'u32'], return: 'i32' },
  prctl: { arguments: ['i32', 'u64', 'u64', 'u64', 'u64'], return: 'i32' },
} as const;

let loaded: SystemCalls | undefined;

/**
 * Loads them once. Throws {@link SystemCallsMissing} where Node has no `node:ffi` (before 26, or
 * with `--no-experimental-ffi`) or the machine is no Linux.
 */
export function systemCalls(): SystemCalls {
  loaded ??= load();
  return loaded;
}

function load(): SystemCalls {
  const ffi = loadFfi();
  if (ffi === undefined || process.platform !== 'linux') {
    throw new SystemCallsMissing(
      `processes share memory by node:ffi on Linux, which Node ${process.versions.node} on ` +
        `${process.platform} does not have: use the Node of package.json, without --no-experimental-ffi`,
    );
  }
  const { functions } = ffi.dlopen(null, definitions);
  return {
    mapShared(fd, offset, bytes) {
      const length = BigInt(bytes);
      const at = functions.mmap(0n, length, readAndWrite, mapSharedFlag, fd, BigInt(offset));
      if (at === mapFailed) throw new Error(`cannot map ${bytes} bytes of shared memory`);
      return ffi.toArrayBuffer(at, bytes, false);
    },
    memoryFile(name) {
      const fd = functions.memfd_create(name, closeOnExec);
      if (fd < 0) throw new Error('cannot make a file in memory (memfd_create)');
      return fd;
    },
    dieWithParent() {
      functions.prctl(setParentDeathSignal, sigkill, 0n, 0n, 0n);
    },
  };
}

function loadFfi(): typeof Ffi | undefined {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return process.getBuiltinModule('node:ffi');
  } finally {
    process.emitWarning = emitWarning;
  }
}
