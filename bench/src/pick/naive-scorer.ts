/**
 * The obvious way to write a picker, to compare with: endpoints are objects, each scorer returns a
 * map from endpoint to score, the maps are weighted and added, and the best is sorted out.
 */

export interface NaiveEndpoint {
  destination: string;
  waiting: number;
  running: number;
  kvCacheUsage: number;
}

type Scores = Map<NaiveEndpoint, number>;

function byLoad(endpoints: NaiveEndpoint[], load: (endpoint: NaiveEndpoint) => number): Scores {
  const loads = endpoints.map(load);
  const most = loads.reduce((a, b) => Math.max(a, b));
  const least = loads.reduce((a, b) => Math.min(a, b));
  return new Map(
    endpoints.map((endpoint, i) => [
      endpoint,
      most === least ? 1 : (most - loads[i]!) / (most - least),
    ]),
  );
}

const scorers = [
  { weight: 2, score: (endpoints: NaiveEndpoint[]) => byLoad(endpoints, ({ waiting }) => waiting) },
  { weight: 1, score: (endpoints: NaiveEndpoint[]) => byLoad(endpoints, ({ running }) => running) },
  {
    weight: 2,
    score: (endpoints: NaiveEndpoint[]): Scores =>
      new Map(endpoints.map((endpoint) => [endpoint, 1 - endpoint.kvCacheUsage])),
  },
];

export function naivePick(endpoints: NaiveEndpoint[]): string {
  const usable = endpoints.filter(({ waiting }) => !Number.isNaN(waiting));
  const totals: Scores = new Map(usable.map((endpoint) => [endpoint, 0]));
  for (const { weight, score } of scorers) {
    for (const [endpoint, value] of score(usable)) {
      totals.set(endpoint, totals.get(endpoint)! + weight * value);
    }
  }
  const [best] = [...totals].sort(([, a], [, b]) => b - a);
  return best![0].destination;
}
