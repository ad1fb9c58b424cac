/// <reference path="./undici-parts.d.ts" />
/** Reads pages by TLS: undici's client, loaded by those who scrape https alone. */
import type { Dispatcher } from 'undici';
import Client from 'undici/lib/dispatcher/client.js';
import { type ConnectSettings, clientOptions } from './connect-options.ts';
import type { PageClient } from './plain-client.ts';

export class TlsClient implements PageClient {
  readonly #client: Client;

  /** Throws when the CA file cannot be read. `timeoutMs`: for connecting. */
  constructor(origin: URL, settings: ConnectSettings, timeoutMs: number) {
    this.#client = new Client(origin.origin, clientOptions(settings, timeoutMs));
  }

  get(
    path: string,
    headers: Readonly<Record<string, string>>,
    handler: Dispatcher.DispatchHandler,
  ): void {
    this.#client.dispatch({ method: 'GET', path, headers: { ...headers } }, handler);
  }

  destroy(error: Error): void {
    this.#client.destroy(error).catch(() => {});
  }
}
