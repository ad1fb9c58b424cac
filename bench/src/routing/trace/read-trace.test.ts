import { describe, expect, it } from 'vitest';
import { readTrace } from './read-trace.ts';

const header =
  '{"trace":"t","source":"s","license":"l","blockTokens":64,"global":[7],"spanMs":900}';

describe('readTrace', () => {
  it('reads header and rows', () => {
    const text = `${header}\n{"t":5.5,"i":130,"o":3,"s":2,"b":[[7,1],[20,2]]}\n`;
    const trace = readTrace(text, 'file');
    expect(trace).toMatchObject({ name: 't', blockTokens: 64, global: [7], spanMs: 900 });
    expect(trace.rows).toEqual([
      { atMs: 5.5, inputTokens: 130, outputTokens: 3, session: 2, runs: [7, 1, 20, 2] },
    ]);
  });

  it('does with a header of blockTokens and rows without session and blocks', () => {
    const trace = readTrace(
      '{"blockTokens":16}\n{"t":0,"i":5,"o":0}\n{"t":10,"i":0,"o":1}',
      'file',
    );
    expect(trace).toMatchObject({ name: 'file', global: [], license: 'unknown licence' });
    expect(trace.rows.map(({ session, runs }) => [session, runs.length])).toEqual([
      [-1, 0],
      [-1, 0],
    ]);
    expect(trace.rows.map((row) => [row.inputTokens, row.outputTokens])).toEqual([
      [5, 1],
      [1, 1],
    ]);
    expect(trace.spanMs).toBeGreaterThan(10);
  });

  it('puts rows in order of time', () => {
    const text = `${header}\n{"t":9,"i":5,"o":1}\n{"t":3,"i":6,"o":1}`;
    expect(readTrace(text, 'file').rows.map(({ atMs }) => atMs)).toEqual([3, 9]);
  });

  it.each([
    ['', 'line 1: not JSON'],
    ['[]', 'line 1: not a JSON object'],
    ['{"trace":"t"}', 'line 1: the header needs "blockTokens"'],
    ['{"blockTokens":0}', 'line 1: the header needs "blockTokens"'],
    ['{"blockTokens":64,"global":["a"]}', 'line 1: "global"'],
    [header, 'no request in the file'],
    [`${header}\n\n{"t":1,"i":2`, 'line 3: not JSON'],
    [`${header}\n{"t":-1,"i":2,"o":1}`, 'line 2: "t"'],
    [`${header}\n{"t":1,"i":2.5,"o":1}`, 'line 2: "i"'],
    [`${header}\n{"t":1,"i":2,"o":"x"}`, 'line 2: "o"'],
    [`${header}\n{"t":1,"i":2,"o":1,"s":-2}`, 'line 2: "s"'],
    [`${header}\n{"t":1,"i":2,"o":1,"b":[[1]]}`, 'line 2: "b"'],
    [`${header}\n{"t":1,"i":64,"o":1,"b":[[1,3]]}`, 'line 2: 3 blocks of 64 tokens'],
  ])('says what is wrong and where: %j', (text, message) => {
    expect(() => readTrace(text, 'file')).toThrow(message);
  });
});
