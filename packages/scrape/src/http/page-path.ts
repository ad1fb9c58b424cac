/** One of the paths that a fetcher asks for, and where redirects led from it. */
export class PagePath {
  /** Path and query where a fetch begins. */
  readonly base: string;
  /** Where a redirect led to since; the next fetch begins there. */
  current: string;

  constructor(base: string) {
    this.base = base;
    this.current = base;
  }
}
