import { expect, it } from 'vitest';
import { SilenceWatch } from './silence-watch.ts';

it('names a thread that leaves questions unanswered, once, and no other', () => {
  const watch = new SilenceWatch(3);
  watch.begin(0);
  watch.begin(1);
  for (let i = 0; i < 3; i++) {
    expect(watch.asked()).toEqual([]);
    watch.heard(0);
  }
  expect(watch.asked()).toEqual([1]);
  expect(watch.asked()).toEqual([]);
});

it('begins anew with an answer, and with a successor', () => {
  const watch = new SilenceWatch(1);
  watch.begin(0);
  watch.asked();
  watch.heard(0);
  expect(watch.asked()).toEqual([]);
  watch.end(0);
  expect(watch.asked()).toEqual([]);
  watch.begin(0);
  expect(watch.asked()).toEqual([]);
  expect(watch.asked()).toEqual([0]);
});

it('asks nothing of a thread that still starts', () => {
  const watch = new SilenceWatch(0);
  watch.heard(0);
  expect(watch.asked()).toEqual([]);
});
