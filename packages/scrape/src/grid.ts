/**
 * The moments at which the scrapes of one node begin.
 *
 * Sidecars of a node that scrape at the same moments have their reports at the agent together: it
 * wakes once for all of them and sends one batch instead of many. They need not talk to each other
 * for that, as the monotonic clock is one for all containers of a machine; where it is not (a pod
 * with a kernel of its own), a sidecar is merely out of step. Nodes differ by their name's hash, so
 * that the brokers and collectors see an even stream. Pods of one node may have different steps: all
 * grids of a node have one moment in common, so of steps that are multiples of each other the wider
 * one meets the narrower at each of its moments. docs/adr/0009 has the alternatives.
 */
import { createHash } from 'node:crypto';

export interface Grid {
  /** Distance of two moments, ms. */
  readonly stepMs: number;
  /** Where in the step they lie, ms. */
  readonly offsetMs: number;
}

/** The grid of a node; `undefined` when its name is not known. */
export function gridOfNode(nodeName: string, stepMs: number): Grid | undefined {
  if (nodeName === '') return undefined;
  // Names of nodes differ in their last letters only; a weaker hash would put them side by side.
  const hash = createHash('sha256').update(nodeName).digest().readUInt32LE(0);
  // The common moment, in ms with three places: it is in the first 72 minutes of the clock.
  return { stepMs, offsetMs: (hash / 1_000) % stepMs };
}

/** The grid's moment that is nearest to `atMs` of the monotonic clock. */
export function nearestOnGrid(grid: Grid, atMs: number): number {
  const { stepMs, offsetMs } = grid;
  return Math.round((atMs - offsetMs) / stepMs) * stepMs + offsetMs;
}

/** The grid's first moment at or after `atMs` of the monotonic clock. */
export function nextOnGrid(grid: Grid, atMs: number): number {
  const { stepMs, offsetMs } = grid;
  return Math.ceil((atMs - offsetMs) / stepMs) * stepMs + offsetMs;
}
