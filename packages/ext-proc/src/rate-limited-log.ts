/**
 * The log of exchanges: faults with their cause, and gateways that are set up so that the picker
 * cannot do its work, with what to change. All of it happens per request, so each kind is said at
 * most once a minute, with the number of times since; the counters count every one.
 */

/** The few calls of a logger that are made here. */
export interface Logger {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** How long (ms) a kind stays silent after it was said. */
export const logIntervalMs = 60_000;

/** Picks in a row without any response, from which on it is no coincidence. */
export const responsesMissingMax = 100;

const settings = {
  request_header_mode:
    'requests pass without a pick: their headers do not come; ' +
    "set request_header_mode: SEND in the gateway's ext_proc filter",
  response_body_mode:
    'neither first token nor token counts are seen: response bodies do not come; set ' +
    "response_body_mode: FULL_DUPLEX_STREAMED or STREAMED in the gateway's ext_proc filter",
  response_header_mode:
    'requests seem to end as soon as they are picked for: no response has come for a long time; ' +
    "set response_header_mode: SEND in the gateway's ext_proc filter",
} as const;
export type FilterSetting = keyof typeof settings;

/** Who is spoken of. Asked for its address only when it is said: that is a system call. */
export interface Peer {
  readonly peer: string;
}

interface Said {
  atMs: number;
  times: number;
}

export class RateLimitedLog {
  readonly #logger: Logger | undefined;
  readonly #nowMs: () => number;
  /** By setting, or place of a fault: a handful. */
  readonly #said = new Map<string, Said>();
  #responsesMissing = 0;

  /** Without a logger nothing is said. */
  constructor(logger: Logger | undefined, nowMs: () => number) {
    this.#logger = logger;
    this.#nowMs = nowMs;
  }

  /** A gateway does not show what `setting` decides on. */
  misconfigured(setting: FilterSetting, gateway: Peer): void {
    const times = this.#due(setting);
    if (times === 0) return;
    this.#logger?.warn({ setting, peer: gateway.peer, times }, settings[setting]);
  }

  /** Something threw at `place`, a constant name; the request was answered with an error. */
  fault(place: string, error: unknown): void {
    const times = this.#due(place);
    if (times > 0) this.#logger?.error({ err: error, place, times }, 'fault in an exchange');
  }

  /** A request picked for in `asked` went to a member of `served`: both behind one route? */
  servedByOtherPool(asked: string, served: string, gateway: Peer): void {
    const times = this.#due('served_by_other_pool');
    if (times === 0) return;
    this.#logger?.warn(
      { asked, served, peer: gateway.peer, times },
      'a gateway asked for one pool and sent the request to another: its route may have several ' +
        'pools and ask for the first of them only',
    );
  }

  /** The gateway asked for a pool without endpoints; the pool's own state is said elsewhere. */
  askedForEmptyPool(pool: string, gateway: Peer): void {
    const times = this.#due('empty_pool');
    if (times === 0) return;
    this.#logger?.warn(
      { pool, peer: gateway.peer, times },
      'refused: the pool has no endpoints; if other pools of the same route have, the gateway may ' +
        'be asking for the wrong one',
    );
  }

  /** A response came: the gateway does show them. */
  responded(): void {
    this.#responsesMissing = 0;
  }

  /** An exchange with a pick ended before any response; one by one these are clients that leave. */
  endedWithoutResponse(gateway: Peer): void {
    if (++this.#responsesMissing < responsesMissingMax) return;
    this.misconfigured('response_header_mode', gateway);
  }

  /** How often this kind has happened since it was said last, 0 when it must not be said now. */
  #due(kind: string): number {
    const nowMs = this.#nowMs();
    const said = this.#said.get(kind) ?? { atMs: Number.NEGATIVE_INFINITY, times: 0 };
    said.times++;
    this.#said.set(kind, said);
    if (nowMs - said.atMs < logIntervalMs) return 0;
    const { times } = said;
    said.atMs = nowMs;
    said.times = 0;
    return times;
  }
}
