/**
 * IP addresses as 16 bytes: IPv6 as it is, IPv4 mapped into ::ffff:0:0/96 (RFC 4291, 2.5.5.2).
 * One form for both keeps the report flat; text is made only for people and for headers.
 */
import { WireError, wireErrorCode } from './error.ts';

export const addressBytes = 16;

/**
 * Writes `text` (IPv4, IPv6, IPv6 in brackets) at `offset`; a zone (`%eth0`) is refused, as it
 * means nothing on another machine. Throws {@link WireError} `value`.
 */
export function writeAddress(text: string, into: Uint8Array, offset: number): void {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const groups = bare.includes(':') ? parseV6(bare) : mapV4(bare);
  if (groups === undefined) throw new WireError(wireErrorCode.value, `not an IP address: ${text}`);
  for (let i = 0; i < 8; i++) {
    const group = groups[i] ?? 0;
    into[offset + i * 2] = group >>> 8;
    into[offset + i * 2 + 1] = group & 0xff;
  }
}

/** The address at `offset` as text: dotted IPv4, or compressed IPv6 (RFC 5952) without brackets. */
export function readAddress(bytes: Uint8Array, offset: number): string {
  const groups: number[] = [];
  for (let i = 0; i < 8; i++) {
    groups.push(((bytes[offset + i * 2] ?? 0) << 8) | (bytes[offset + i * 2 + 1] ?? 0));
  }
  const mapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
  if (mapped) return Array.from(bytes.subarray(offset + 12, offset + 16)).join('.');
  return compress(groups);
}

/**
 * The one text of an address, however it was written: `FD00:0:0:0:0:0:8:1` is `fd00::8:1`, and
 * `::ffff:10.0.0.7` is `10.0.0.7`. `undefined`: no address.
 */
export function canonicalAddress(text: string): string | undefined {
  const bytes = new Uint8Array(addressBytes);
  try {
    writeAddress(text, bytes, 0);
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
  return readAddress(bytes, 0);
}

/**
 * An address, with or without a port, as gateways write it: `10.0.0.7`, `10.0.0.7:8000`,
 * `[fd00::1]:8000`, `fd00::1`, and also `fd00::1:8000` where the last group can be nothing else
 * than a port. The address is canonical. `undefined`: neither.
 */
export function parseHostPort(text: string): { address: string; port?: number } | undefined {
  const whole = canonicalAddress(text);
  if (whole !== undefined) return { address: whole };
  const colon = text.lastIndexOf(':');
  const digits = text.slice(colon + 1);
  const port = Number(digits);
  if (colon < 1 || !/^\d{1,5}$/.test(digits) || port < 1 || port > 0xffff) return undefined;
  const address = canonicalAddress(text.slice(0, colon));
  return address === undefined ? undefined : { address, port };
}

/** `address:port` as headers and Envoy want it: IPv6 in brackets. */
export function formatHostPort(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

/** No zeros in front: some readers take such a number for an octal one. */
const v4Pattern = /^(0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3}$/;

function parseV4(text: string): [number, number] | undefined {
  if (!v4Pattern.test(text)) return undefined;
  const parts = text.split('.').map(Number);
  if (parts.some((part) => part > 255)) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = parts;
  return [(a << 8) | b, (c << 8) | d];
}

function mapV4(text: string): number[] | undefined {
  const pair = parseV4(text);
  return pair && [0, 0, 0, 0, 0, 0xffff, ...pair];
}

function parseV6(text: string): number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0] ?? '', halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1] ?? '', true) : [];
  if (head === undefined || tail === undefined) return undefined;
  if (halves.length === 1) return head.length === 8 ? head : undefined;
  const gap = 8 - head.length - tail.length;
  if (gap < 1) return undefined;
  return [...head, ...new Array<number>(gap).fill(0), ...tail];
}

/** `isLast`: these end the address, so that dotted IPv4 may stand for their last two. */
function parseGroups(text: string, isLast: boolean): number[] | undefined {
  if (text === '') return [];
  const groups: number[] = [];
  const parts = text.split(':');
  for (const [i, part] of parts.entries()) {
    const embedded = isLast && i === parts.length - 1 ? parseV4(part) : undefined;
    if (embedded !== undefined) {
      groups.push(...embedded);
      continue;
    }
    if (!/^[0-9a-f]{1,4}$/i.test(part)) return undefined;
    groups.push(Number.parseInt(part, 16));
  }
  return groups;
}

function compress(groups: readonly number[]): string {
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let end = start;
    while (end < 8 && groups[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
  }
  const hex = groups.map((group) => group.toString(16));
  if (best.start < 0) return hex.join(':');
  const head = hex.slice(0, best.start).join(':');
  return `${head}::${hex.slice(best.start + best.length).join(':')}`;
}
