/** Settings that a sidecar and a node agent share, with the reason for each number. */
import type { PaceSettings } from './pace.ts';
import type { SuspicionSettings } from './suspicion.ts';

/** 20 scrapes a second, at most a tenth of the engine's time, never rarer than once a second. */
export const paceDefaults: PaceSettings = {
  intervalMs: 50,
  idleIntervalMs: 200,
  intervalMsMax: 1_000,
  share: 0.1,
};

/**
 * Five seconds: longer than one step of any engine, a chunk of a long prefill included, and still
 * short against the minutes for which a wedged engine goes unnoticed by health checks.
 */
export const suspicionDefaults: SuspicionSettings = { scrapes: 20, forMs: 5_000 };

/** Four missed intervals of the slowest pace would be stale anyway. */
export const scrapeTimeoutMsDefault = 1_000;

/** Pages have 45 to 170 KB; one that lists thousands of adapters has megabytes. */
export const pageBytesMaxDefault = 8 * 1_048_576;
