/**
 * A Kubernetes API server for tests: list with pages, watch with history, bookmarks and 410,
 * create, replace, patch and delete, and a fault for any request a test chooses.
 *
 * It is faithful where clients depend on it: one version for all objects; a watch from a version
 * that is no longer kept begins with 200 and then says 410 as an ERROR event; an object that
 * stops matching a watch's selector is told as DELETED; a page's `continue` belongs to one
 * version. It does not validate, authorise or default.
 *
 * Listens on 127.0.0.1; `stop` breaks all connections, `start` again takes the same port.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { answerList, apiVersionOf } from './answer-list.ts';
import { answerWrite } from './answer-write.ts';
import {
  type ApiResource,
  apiResources,
  collectionOf,
  parseHostPort,
  type RequestTarget,
} from './api-resource.ts';
import { type Fault, type FaultRule, type SeenRequest, statusObject } from './fault.ts';
import { type Change, type NewObject, ObjectStore, type StoredObject } from './object-store.ts';
import { selectorOf } from './selector.ts';
import { Watcher } from './watcher.ts';

/** Requests remembered for assertions. */
const seenMax = 10_000;

export interface FakeApiServerOptions {
  readonly resources?: readonly ApiResource[];
  /** Time between bookmarks, ms; 0: only when the test calls `bookmark`. */
  readonly bookmarkMs?: number;
}

export class FakeApiServer {
  /** Collections served; a test may push and splice, as when a CRD comes and goes. */
  readonly resources: ApiResource[];
  /** Asked in order for each request; the first fault is done. */
  readonly faults: FaultRule[] = [];
  /** The newest requests, oldest first. */
  readonly seen: SeenRequest[] = [];
  readonly #store = new ObjectStore((change) => this.#tell(change));
  readonly #watchers = new Set<Watcher>();
  readonly #began = performance.now();
  readonly #bookmarkMs: number;
  #server: Server | undefined;
  #port = 0;
  #bookmarks: NodeJS.Timeout | undefined;

  constructor(options: FakeApiServerOptions = {}) {
    this.resources = [...(options.resources ?? apiResources)];
    this.#bookmarkMs = options.bookmarkMs ?? 0;
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        if (!response.headersSent) this.#fail(response, 500, String(error));
        else response.destroy();
      });
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
    if (this.#bookmarkMs > 0) {
      this.#bookmarks = setInterval(() => this.bookmark(), this.#bookmarkMs);
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#bookmarks);
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** A kubeconfig that names this server, as text. */
  get kubeconfig(): string {
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      // The official client speaks plain HTTP only to a server whose TLS it need not check.
      clusters: [{ name: 'fake', cluster: { server: this.url, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'fake', user: { token: 'fake-token' } }],
      contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'fake' } }],
      'current-context': 'fake',
    });
  }

  /** Open watches. */
  get watches(): number {
    return this.#watchers.size;
  }

  /** Creates or replaces an object of a served kind. */
  put(kind: string, object: NewObject): StoredObject {
    const resource = this.#resource(kind);
    return this.#store.put(collectionOf(resource), object, {
      apiVersion: apiVersionOf(resource),
      kind,
    });
  }

  get(kind: string, namespace: string, name: string): StoredObject | undefined {
    return this.#store.get(collectionOf(this.#resource(kind)), namespace, name);
  }

  remove(kind: string, namespace: string, name: string): void {
    this.#store.remove(collectionOf(this.#resource(kind)), namespace, name);
  }

  /** Forgets the history, so that every version known to clients is gone. */
  compact(): void {
    this.#store.compact();
  }

  /** Tells every watch the newest version. */
  bookmark(): void {
    for (const watcher of this.#watchers) {
      watcher.bookmark(this.#store.version, 'Bookmark', 'v1');
    }
  }

  /** Every open watch breaks, ends, fails with 410, or falls silent. */
  disturbWatches(how: 'drop' | 'end' | 'gone' | 'silence'): void {
    for (const watcher of this.#watchers) {
      if (how === 'drop') watcher.drop();
      else if (how === 'end') watcher.end();
      else if (how === 'gone') watcher.error(410, 'too old resource version');
      else watcher.silent = true;
    }
  }

  /** Requests seen whose path contains `part`. */
  requests(part: string): SeenRequest[] {
    return this.seen.filter((request) => request.path.includes(part));
  }

  #resource(kind: string): ApiResource {
    const resource = this.resources.find((one) => one.kind === kind);
    if (resource === undefined) throw new Error(`the fake serves no ${kind}`);
    return resource;
  }

  #tell(change: Change): void {
    for (const watcher of this.#watchers) watcher.tell(change);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const seen: SeenRequest = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: url.searchParams,
      watch: /^(true|1)$/.test(url.searchParams.get('watch') ?? ''),
      atMs: performance.now() - this.#began,
    };
    this.seen.push(seen);
    if (this.seen.length > seenMax) this.seen.splice(0, seenMax / 2);
    for (const rule of this.faults) {
      const fault = rule(seen);
      if (fault !== undefined && (await this.#inflict(fault, seen, response))) return;
    }
    const target = parseHostPort(url.pathname, this.resources);
    if (target === undefined) {
      this.#fail(response, 404, 'the server could not find the requested resource');
    } else if (seen.watch) this.#watch(target, seen, response);
    else if (seen.method === 'GET') answerList(this.#store, target, seen.query, response);
    else await answerWrite(this.#store, target, request, response);
  }

  /** Whether the request has been dealt with. */
  async #inflict(fault: Fault, seen: SeenRequest, response: ServerResponse): Promise<boolean> {
    if ('delayMs' in fault) {
      await delay(fault.delayMs);
      return false;
    }
    if ('reset' in fault) response.destroy();
    else if ('errorEvent' in fault) {
      const object = statusObject(fault.errorEvent, 'too old resource version');
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
    } else if ('silent' in fault) {
      if (seen.watch) response.writeHead(200).flushHeaders();
    } else if ('body' in fault) response.writeHead(200).end(fault.body);
    else {
      if (fault.retryAfterS !== undefined) response.setHeader('retry-after', fault.retryAfterS);
      this.#fail(response, fault.status, fault.message ?? 'made by a test');
    }
    return true;
  }

  #watch(target: RequestTarget, seen: SeenRequest, response: ServerResponse): void {
    const selects = selectorOf(
      seen.query.get('labelSelector') ?? '',
      seen.query.get('fieldSelector') ?? '',
    );
    const inScope = (object: StoredObject) =>
      target.namespace === '' || object.metadata.namespace === target.namespace;
    const collection = collectionOf(target.resource);
    const watcher = new Watcher(
      collection,
      response,
      (object) => inScope(object) && selects(object),
    );
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    const version = Number(seen.query.get('resourceVersion') ?? 0);
    if (version === 0) {
      for (const object of this.#store.all(collection)) {
        if (inScope(object) && selects(object)) watcher.send('ADDED', object);
      }
    } else {
      const changes = this.#store.since(version);
      if (changes === undefined) {
        watcher.error(410, `too old resource version: ${version}`);
        return;
      }
      for (const change of changes) watcher.tell(change);
    }
    this.#watchers.add(watcher);
    const seconds = Number(seen.query.get('timeoutSeconds') ?? 0);
    const timeout = seconds > 0 ? setTimeout(() => watcher.end(), seconds * 1_000) : undefined;
    response.on('close', () => {
      clearTimeout(timeout);
      this.#watchers.delete(watcher);
    });
  }

  #fail(response: ServerResponse, status: number, message: string): void {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(statusObject(status, message)));
  }
}
