import { expect, it } from 'vitest';
import { CandidateMarks } from './candidate-marks.ts';

const slots = (marks: CandidateMarks, positions: number): number[] =>
  Array.from({ length: positions }, (_, position) => marks.slotOf(position));

it('knows the candidates of the current pick only', () => {
  const marks = new CandidateMarks();
  marks.begin(Int32Array.of(3, 1), 2, 4);
  expect(slots(marks, 4)).toEqual([-1, 1, -1, 0]);
  marks.begin(Int32Array.of(2, 3), 1, 4);
  expect(slots(marks, 4)).toEqual([-1, -1, 0, -1]);
  marks.begin(Int32Array.of(5), 1, 6);
  expect(slots(marks, 6)).toEqual([-1, -1, -1, -1, -1, 0]);
});

it('goes on after more picks than 32 bits count', () => {
  const marks = new CandidateMarks(2 ** 31 - 3);
  for (let pick = 0; pick < 6; pick++) {
    const here = pick % 3;
    marks.begin(Int32Array.of(here), 1, 3);
    expect(slots(marks, 3).indexOf(0)).toBe(here);
    expect(slots(marks, 3).filter((slot) => slot >= 0)).toHaveLength(1);
  }
});
