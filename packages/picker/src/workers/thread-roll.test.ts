import { expect, it } from 'vitest';
import { ThreadRoll } from './thread-roll.ts';

it('serves when all listen, and from then on as long as one does', () => {
  const roll = new ThreadRoll(2);
  roll.listening(0);
  expect(roll.serving).toBe(false);
  roll.listening(1);
  expect(roll.serving).toBe(true);
  roll.ended(0);
  expect(roll.serving).toBe(true);
  roll.ended(1);
  expect(roll.serving).toBe(false);
  roll.listening(1);
  expect(roll.serving).toBe(true);
});

it('does not wait for a thread that ended to drain', () => {
  const roll = new ThreadRoll(2);
  roll.listening(0);
  roll.listening(1);
  roll.drained(0);
  expect(roll.allDrained(2)).toBe(false);
  roll.ended(1);
  expect(roll.allDrained(1)).toBe(true);
  // One that had drained and then ended counts on neither side.
  roll.ended(0);
  expect(roll.allDrained(1)).toBe(false);
  expect(roll.allDrained(0)).toBe(true);
});
