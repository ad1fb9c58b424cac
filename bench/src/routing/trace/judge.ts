/** What the default strategy must reach in a cell of the trace benchmark. */
import type { Cell } from './cell.ts';

const worstRatio = 1.05;
const sharedPollingRatio = 0.5;
const oracleP99 = 1.25;
const oracleMean = 1.1;
/** Prefixes count as shared where an oracle finds this much of the prompts in a cache. */
const sharedHitRatio = 0.05;

export interface Verdict {
  /** What no cell may miss. */
  readonly missed: string[];
  /** Near the oracle, which four cells of five must be. */
  readonly isNearOracle: boolean;
}

/** `cells`: one per policy, of one cell. */
export function judge(cells: readonly Cell[]): Verdict {
  const ours = cells.find(({ policy }) => policy === 'expected-work');
  const oracle = cells.find(({ policy }) => policy === 'oracle');
  if (ours === undefined || oracle === undefined) return { missed: [], isNearOracle: true };
  const missed: string[] = [];
  if (ours.collapsed && !oracle.collapsed) missed.push('collapsed');
  const peers = cells.filter((cell) => cell !== ours && cell !== oracle);
  const check = (what: string, of: (cell: Cell) => number) => {
    const best = Math.min(...peers.map(of));
    if (of(ours) > worstRatio * best) missed.push(`${what} ${(of(ours) / best).toFixed(2)}`);
  };
  if (peers.length > 0) {
    check('p50', (cell) => cell.ttft_ms.p50);
    check('p99', (cell) => cell.ttft_ms.p99);
    check('mean', (cell) => cell.e2e_ms.mean);
    const best = Math.max(...peers.map(({ goodput }) => goodput));
    if (ours.goodput * worstRatio < best) {
      missed.push(`goodput ${(ours.goodput / best).toFixed(2)}`);
    }
  }
  const polling = cells.find(({ policy }) => policy === 'polling');
  if (polling !== undefined && ours.replicas >= 3 && oracle.hit_ratio >= sharedHitRatio) {
    const ratio = ours.ttft_ms.p99 / polling.ttft_ms.p99;
    if (ratio > sharedPollingRatio) missed.push(`p99 / polling ${ratio.toFixed(2)}`);
  }
  const isNearOracle =
    ours.ttft_ms.p99 <= oracleP99 * oracle.ttft_ms.p99 &&
    ours.e2e_ms.mean <= oracleMean * oracle.e2e_ms.mean;
  return { missed, isNearOracle };
}
