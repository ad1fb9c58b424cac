/**
 * Networks as operators write them (`10.0.0.0/8`, `fd00::/8`, or a single address), compared with
 * addresses bit by bit: an IPv4 network is one of the mapped addresses.
 */
import { addressBytes, writeAddress } from './address.ts';
import { WireError, wireErrorCode } from './error.ts';

const addressBits = addressBytes * 8;
const v4Bits = 32;

export class Network {
  readonly #bytes = new Uint8Array(addressBytes);
  readonly #bits: number;

  /** Throws {@link WireError} `value` for anything but an address and, at most, a prefix length. */
  constructor(text: string) {
    const [address = '', length, ...rest] = text.trim().split('/');
    writeAddress(address, this.#bytes, 0);
    const most = address.includes(':') ? addressBits : v4Bits;
    const bits = length === undefined ? most : Number(length);
    const isLength = length === undefined || /^\d{1,3}$/.test(length);
    if (rest.length > 0 || !isLength || bits > most) {
      throw new WireError(wireErrorCode.value, `not a network: ${text}`);
    }
    this.#bits = addressBits - most + bits;
  }

  /** Whether `address`, in any spelling, lies in it; `false` for what is no address. */
  has(address: string): boolean {
    const bytes = new Uint8Array(addressBytes);
    try {
      writeAddress(address, bytes, 0);
    } catch (error) {
      if (error instanceof WireError) return false;
      throw error;
    }
    for (let bit = 0; bit < this.#bits; bit += 8) {
      const mask = 0xff & (0xff << Math.max(0, 8 - (this.#bits - bit)));
      const at = bit >> 3;
      if (((this.#bytes[at]! ^ bytes[at]!) & mask) !== 0) return false;
    }
    return true;
  }
}
