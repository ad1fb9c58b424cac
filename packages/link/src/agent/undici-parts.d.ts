/**
 * One file of undici, whose index would load its fetch, caches, mocks and WebSockets too: some
 * 4 MB of memory in each sidecar. A pool without the index has `dispatch` and no `request`. The
 * path is no promise of undici's; the version is pinned, and a test runs the sink in a process
 * that has loaded nothing else.
 */
declare module 'undici/lib/dispatcher/pool.js' {
  export { Pool as default } from 'undici';
}
