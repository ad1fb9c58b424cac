/** Whether the queue of a run still grew at its end: what came was more than what was served. */

/** Fewer waiting per pod than this at the end are no collapse, whatever they do. */
const waitingPerPodMin = 2;
const growthMin = 1.1;

/** `waiting`: requests waiting in the fleet, at equal intervals over the measured arrivals. */
export function isCollapsed(waiting: readonly number[], pods: number): boolean {
  const middle = meanOf(waiting, 0.4, 0.6);
  const end = meanOf(waiting, 0.8, 1);
  return end > waitingPerPodMin * pods && end > growthMin * middle;
}

function meanOf(values: readonly number[], from: number, to: number): number {
  const part = values.slice(Math.floor(values.length * from), Math.ceil(values.length * to));
  return part.reduce((sum, value) => sum + value, 0) / part.length;
}
