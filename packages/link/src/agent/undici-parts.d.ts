/**
 * Two files of undici, whose index would load its fetch, caches, mocks and WebSockets too: some
 * 4 MB of memory in each sidecar. The index is also what gives a pool its `request`, so that is
 * imported as a function. The paths are no promise of undici's; the version is pinned, and a test
 * runs the sink in a process that has loaded nothing else.
 */
declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici';
}

declare module 'undici/lib/api/api-request.js' {
  import type { Dispatcher } from 'undici';

  export default function request(
    this: Dispatcher,
    options: Dispatcher.RequestOptions,
  ): Promise<Dispatcher.ResponseData>;
}
