/** Values of flags and arguments, as people type them. */
import { InvalidArgumentError } from 'commander';

/** A whole number from 1 on. */
export function positive(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('not a number ≥ 1');
  return number;
}

/**
 * Where a process listens: `http://host:9090`, or without the scheme `host:9090`, `[fd00::1]:9090`.
 * A path before the routes stays (a proxy's). User names are refused: they would end up in the
 * shell's history.
 */
export function baseUrl(text: string): URL {
  const url = URL.parse(/^[a-z]+:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError('not a URL: write http://HOST:PORT or HOST:PORT');
  }
  if (url.username !== '' || url.password !== '') {
    throw new InvalidArgumentError('no user names in URLs: give a token by --token-file');
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

/** The same, gathered over the arguments of one command. */
export function baseUrls(text: string, before: readonly URL[] | undefined): URL[] {
  return [...(before ?? []), baseUrl(text)];
}
