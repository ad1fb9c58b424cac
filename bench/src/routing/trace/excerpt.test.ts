import { describe, expect, it } from 'vitest';
import { readExcerpt, thinned, writeExcerpt } from './excerpt.ts';
import { blockIds, type Trace } from './trace.ts';

const row = (atMs: number, session: number, runs: number[], inputTokens = 640) => ({
  atMs,
  inputTokens,
  outputTokens: 40,
  session,
  runs,
});
const trace: Trace = {
  name: 't',
  source: 's',
  license: 'l',
  blockTokens: 64,
  global: [900],
  spanMs: 500,
  rows: [
    row(1, 4, [900, 1, 5, 3]),
    row(30, 7, [900, 1, 60, 2]),
    row(90, 4, [900, 1, 5, 2, 70, 3]),
    row(95, -1, []),
    row(99, 7, [5, 2, 900, 1]),
    row(120, -1, [900, 1, 5, 1]),
  ],
};

/** Which blocks are the same one, whatever they are called. */
function sameness(given: Trace): number[][] {
  const names = new Map<number, number>();
  return given.rows.map((each) =>
    blockIds(each, given.blockTokens).map((id) => {
      if (!names.has(id)) names.set(id, names.size);
      return names.get(id)!;
    }),
  );
}

describe('an excerpt', () => {
  it('keeps times, lengths, sessions and what is shared', () => {
    const read = readExcerpt(writeExcerpt(trace));
    const bare = ({ rows }: Trace) => rows.map(({ runs: _, ...rest }) => rest);
    expect(bare(read)).toEqual(bare(trace));
    expect(sameness(read)).toEqual(sameness(trace));
    expect(read).toMatchObject({ name: 't', source: 's', license: 'l', spanMs: 500 });
    expect(read.global).toEqual([blockIds(read.rows[0]!, 64)[0]]);
  });

  it('takes whole sessions out', () => {
    const thin = thinned(trace, 7);
    expect(thin.rows.map(({ session }) => session)).toEqual([7, 7]);
  });
});
