/** A recorded stream of requests as numbers: when, how long, and what of the prompt is shared. */
export interface TraceRow {
  readonly atMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** -1: unknown. */
  readonly session: number;
  /**
   * Ids of the prompt's blocks from its start, in runs: first id, count, first id, count … An id
   * stands for its block and all text before it; what no run covers is shared with nobody.
   */
  readonly runs: readonly number[];
}

export interface Trace {
  readonly name: string;
  /** Where it comes from, and under which licence: shown with every result. */
  readonly source: string;
  readonly license: string;
  /** Tokens per id; the last block of a prompt may be partial. */
  readonly blockTokens: number;
  /** Ids that copies of the trace share, such as a system prompt's. */
  readonly global: readonly number[];
  /** Longer than the last arrival: a copy begins again after it. */
  readonly spanMs: number;
  /** In order of time. */
  readonly rows: readonly TraceRow[];
}

/** The ids of a row's blocks, at most those that its prompt has room for. */
export function blockIds(row: TraceRow, blockTokens: number): number[] {
  const most = Math.ceil(row.inputTokens / blockTokens);
  const ids: number[] = [];
  for (let run = 0; run < row.runs.length; run += 2) {
    const first = row.runs[run]!;
    const count = Math.min(row.runs[run + 1]!, most - ids.length);
    for (let i = 0; i < count; i++) ids.push(first + i);
  }
  return ids;
}
