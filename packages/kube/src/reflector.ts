/**
 * Keeps a copy of one collection of the API server: list once, then watch, for as long as it
 * runs, whatever the server does.
 *
 *            list ──version──> watch ──end, break, silence──> watch again from the last version
 *              ^                 │
 *              └── of no use ────┘          (ERROR event in the stream, or the status itself)
 *
 * Rules:
 * - Every pause after a failure grows; it shrinks again only when a watch has proven itself by
 *   an event or by its age. So a server that lists and then refuses each watch (a 410 storm) is
 *   not asked in a tight loop.
 * - A version from which no watch will ever go on is given up for a new list: one that is no longer
 *   kept (410), one that a restored server has not reached (504), or one before an event that
 *   nobody can read.
 * - 401 and 403 are asked again at most once a second.
 * - While the server is away the copy stays as it is.
 * - A periodic list runs beside the watch and repairs what a missed event left behind.
 * - Only errors of this package are survived; a fault in a consumer's code is not hidden.
 */
import { Backoff, pause } from '@leadsman/service/backoff';
import type { KubeClient, Query } from './client.ts';
import { codeOfStatus, KubeError, type KubeErrorCode, kubeErrorCode } from './error.ts';
import { listAll } from './list.ts';
import { type KubeObject, type Resource, resourcePath } from './object.ts';
import { Store, type StoreCounts, type StoreListener } from './store.ts';

export interface ReflectorListener<T> extends StoreListener<T> {
  /** A list has been taken whole: the first, and each later one. */
  listed?(): void;
  /** The state changed: `undefined` all is well, else why not, with a line for people. */
  state?(reason: KubeErrorCode | undefined, message: string): void;
}

export interface ReflectorSettings {
  readonly pageSize: number;
  /** Objects kept; see store.ts. */
  readonly itemsMax: number;
  readonly listIdleMs: number;
  /** The server is asked to end a watch after this long, ms; we then go on from its version. */
  readonly watchMs: number;
  /** A watch without any byte for this long is taken for dead, ms. Bookmarks come each minute. */
  readonly watchIdleMs: number;
  /** Time between two lists beside the watch, ms, plus or minus a tenth. */
  readonly relistMs: number;
  readonly backoffFirstMs: number;
  readonly backoffMaxMs: number;
}

const defaults: ReflectorSettings = {
  pageSize: 500,
  itemsMax: 100_000,
  listIdleMs: 30_000,
  watchMs: 300_000,
  watchIdleMs: 90_000,
  relistMs: 600_000,
  backoffFirstMs: 100,
  backoffMaxMs: 10_000,
};

/** Without rights, or without the CRD, asking more often than this only makes noise. */
const refusedFloorMs: Partial<Record<KubeErrorCode, number>> = {
  [kubeErrorCode.rbac]: 1_000,
  [kubeErrorCode.unauthorized]: 1_000,
  [kubeErrorCode.notFound]: 1_000,
};

/** A watch this old has proven itself, ms. */
const provenMs = 5_000;

export interface ReflectorOptions<T> {
  readonly client: KubeClient;
  readonly resource: Resource;
  /** Empty or absent: the whole cluster. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** What to keep of an object; undefined: nothing. */
  readonly project: (object: KubeObject) => T | undefined;
  readonly listener: ReflectorListener<T>;
  readonly random: () => number;
  readonly settings?: Partial<ReflectorSettings>;
}

export interface ReflectorCounts extends StoreCounts {
  lists: number;
  watches: number;
  events: number;
  failures: number;
}

export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #settings: ReflectorSettings;
  readonly #path: string;
  readonly #selectors: Query;
  readonly #store: Store<T>;
  readonly #backoff: Backoff;
  readonly #stopped = new AbortController();
  readonly #numbers = { lists: 0, watches: 0, events: 0, failures: 0 };
  #version: string | undefined;
  #listed = false;
  #watched = false;
  #reason: KubeErrorCode | undefined = kubeErrorCode.connect;
  #message = 'not asked yet';
  #running: Promise<void> | undefined;
  #audit: NodeJS.Timeout | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#settings = { ...defaults, ...options.settings };
    this.#path = resourcePath(options.resource, options.namespace);
    this.#selectors = {
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
    };
    this.#store = new Store({
      project: options.project,
      listener: options.listener,
      itemsMax: this.#settings.itemsMax,
    });
    this.#backoff = new Backoff({
      firstMs: this.#settings.backoffFirstMs,
      maxMs: this.#settings.backoffMaxMs,
      random: options.random,
    });
  }

  /** Whether a complete list has ever been taken. */
  get listed(): boolean {
    return this.#listed;
  }

  /**
   * Whether a list was taken and the server has agreed to a watch. Stays true when the server
   * goes away: what is known is then as good as anybody's knowledge.
   */
  get synced(): boolean {
    return this.#listed && this.#watched;
  }

  /** `undefined` while a watch is open, else why there is none. */
  get reason(): KubeErrorCode | undefined {
    return this.#reason;
  }

  /** The reason with its circumstances, for people. */
  get message(): string {
    return this.#message;
  }

  get items(): ReadonlyMap<string, T> {
    return this.#store.items;
  }

  get counts(): Readonly<ReflectorCounts> {
    return { ...this.#numbers, ...this.#store.counts };
  }

  /** Begins in the background. */
  start(): void {
    this.#running ??= this.#run();
    this.#scheduleAudit();
  }

  /** Ends it; no listener is called afterwards. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#audit);
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list();
        await this.#watch();
      } catch (error) {
        if (this.#stopped.signal.aborted) return;
        if (!(error instanceof KubeError)) throw error;
        await this.#recover(error);
      }
    }
  }

  async #recover(error: KubeError): Promise<void> {
    this.#numbers.failures++;
    if (spoilsVersion(error)) this.#version = undefined;
    this.#setState(error.code, error.message);
    const floorMs = Math.max(error.retryAfterMs, refusedFloorMs[error.code] ?? 0);
    await pause(this.#backoff.next(floorMs), this.#stopped.signal);
  }

  async #list(): Promise<void> {
    const listed = new Map<string, T | undefined>();
    const version = await this.#read(listed);
    if (this.#stopped.signal.aborted) return;
    this.#store.replace(listed);
    this.#version = version;
    this.#listed = true;
    this.#options.listener.listed?.();
  }

  #read(into: Map<string, T | undefined>): Promise<string> {
    this.#numbers.lists++;
    return listAll(
      this.#options.client,
      this.#path,
      {
        query: this.#selectors,
        pageSize: this.#settings.pageSize,
        idleMs: this.#settings.listIdleMs,
        signal: this.#stopped.signal,
      },
      (value) => {
        const read = this.#store.read(value);
        if (read !== undefined) into.set(read.uid, read.item);
      },
    );
  }

  async #watch(): Promise<void> {
    this.#numbers.watches++;
    const { client, random } = this.#options;
    const seconds = Math.ceil((this.#settings.watchMs * (1 + random() * 0.2)) / 1_000);
    let proven = false;
    let timer: NodeJS.Timeout | undefined;
    try {
      await client.lines(
        this.#path,
        {
          query: {
            ...this.#selectors,
            watch: true,
            allowWatchBookmarks: true,
            resourceVersion: this.#version,
            timeoutSeconds: seconds,
          },
          idleMs: this.#settings.watchIdleMs,
          signal: this.#stopped.signal,
        },
        (event) => this.#onEvent(event),
        () => {
          this.#watched = true;
          this.#setState(undefined, 'watching');
          timer = setTimeout(() => {
            proven = true;
            this.#backoff.reset();
          }, provenMs);
        },
      );
    } finally {
      clearTimeout(timer);
    }
    if (!proven) {
      throw new KubeError(kubeErrorCode.unavailable, `${this.#path}: the watch ended at once`);
    }
  }

  #onEvent(event: unknown): void {
    if (this.#stopped.signal.aborted) return;
    const { type, object } = (event ?? {}) as { type?: unknown; object?: unknown };
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#store.upsert(object);
        break;
      case 'DELETED':
        this.#store.remove(object);
        break;
      case 'BOOKMARK':
        break;
      case 'ERROR':
        throw errorOfStatus(object, this.#path);
      default:
        throw new KubeError(kubeErrorCode.protocol, `${this.#path}: an event of no known type`);
    }
    this.#numbers.events++;
    this.#backoff.reset();
    const version = (object as Partial<KubeObject> | undefined)?.metadata?.resourceVersion;
    if (typeof version === 'string' && version !== '') this.#version = version;
  }

  #scheduleAudit(): void {
    const wait = this.#settings.relistMs * (0.9 + this.#options.random() * 0.2);
    this.#audit = setTimeout(() => void this.#runAudit(), wait);
    this.#audit.unref();
  }

  /** A list beside the watch. Its failure changes nothing: the next one comes. */
  async #runAudit(): Promise<void> {
    if (this.#reason === undefined) {
      const listed = new Map<string, T | undefined>();
      const audit = this.#store.beginAudit();
      try {
        await this.#read(listed);
        if (this.#stopped.signal.aborted) return;
        this.#store.endAudit(audit, listed);
        this.#options.listener.listed?.();
      } catch (error) {
        this.#store.endAudit(audit);
        if (!(error instanceof KubeError)) throw error;
        this.#numbers.failures++;
      }
    }
    if (!this.#stopped.signal.aborted) this.#scheduleAudit();
  }

  #setState(reason: KubeErrorCode | undefined, message: string): void {
    const changed = reason !== this.#reason;
    this.#reason = reason;
    this.#message = message;
    if (changed) this.#options.listener.state?.(reason, message);
  }
}

/** Whether a watch from the same version would only fail in the same way. */
function spoilsVersion({ code, status }: KubeError): boolean {
  return (
    code === kubeErrorCode.gone ||
    code === kubeErrorCode.protocol ||
    code === kubeErrorCode.invalid ||
    status === 504
  );
}

function errorOfStatus(status: unknown, path: string): KubeError {
  const { code, reason, message } = (status ?? {}) as Record<string, unknown>;
  const expired = reason === 'Expired' || reason === 'Gone';
  const number = expired ? 410 : typeof code === 'number' ? code : 500;
  return new KubeError(codeOfStatus(number), `${path}: ${String(message ?? reason ?? number)}`, {
    status: number,
  });
}
