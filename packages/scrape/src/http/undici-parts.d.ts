/**
 * One file of undici, whose index would load its fetch, caches, mocks and WebSockets too: some
 * 4 MB of memory in each sidecar. Its path is no promise of undici's; the version is pinned, and
 * every test of the fetcher would fail if the path changed.
 */
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici';
}
