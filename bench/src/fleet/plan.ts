/**
 * What every pod's engine shows at any time: a pure function of the pod's number and the clock, so
 * that the sender and the reader agree without telling each other.
 *
 * Each engine's numbers change every `changeMs`, at a moment of its own. A number holds the count
 * of changes so far, so that whoever sees it knows when it came to be; all the other numbers of
 * the report follow from it, so that a mixture of two reports cannot pass for one.
 */
import { metric, metricsCount, podKeyFromUid, podKeyText } from '@leadsman/wire';

export interface FleetPlan {
  nodes: number;
  podsPerNode: number;
  /** Distance of two scrapes of one pod, ms. */
  intervalMs: number;
  /** How long a scrape with its parsing takes on average, ms: from the reading to the report. */
  scrapeMs: number;
  /** Distance of two changes of an engine's numbers, ms. */
  changeMs: number;
}

export const servingPort = 8000;

/** The number that counts changes. */
const countAt = metric.waitingRequests;
/** Any share of a period that differs from pod to pod: the golden ratio spreads best. */
const golden = 0.618_033_988_75;

export function nodeNameOf(node: number): string {
  return `node-${node}`;
}

export function podKeyOf(pod: number): Uint8Array {
  return podKeyFromUid(`bench-pod-${pod}`);
}

export function podKeyTextOf(pod: number): string {
  return podKeyText(podKeyOf(pod));
}

/** How often the pod's numbers have changed by `atMs` of the monotonic clock. */
export function countOf(plan: FleetPlan, pod: number, atMs: number): number {
  return Math.floor(atMs / plan.changeMs - ((pod * golden) % 1));
}

/** When the pod's numbers changed for the `count`th time, ms of the monotonic clock. */
export function changedAtMs(plan: FleetPlan, pod: number, count: number): number {
  return (count + ((pod * golden) % 1)) * plan.changeMs;
}

/** Writes all numbers of the pod for a count of changes. */
export function writeNumbers(pod: number, count: number, into: Float64Array): void {
  for (let i = 0; i < metricsCount; i++) into[i] = count * 64 + i * 2 + (pod % 2);
  into[countAt] = count;
}

/** The count that the numbers tell; NaN when they are not those of one report of this pod. */
export function readNumbers(pod: number, numbers: Float64Array): number {
  const count = numbers[countAt] as number;
  for (let i = 0; i < metricsCount; i++) {
    const wanted = i === countAt ? count : count * 64 + i * 2 + (pod % 2);
    if (numbers[i] !== wanted) return Number.NaN;
  }
  return count;
}
