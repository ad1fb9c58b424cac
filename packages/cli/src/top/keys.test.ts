import { expect, it } from 'vitest';
import { footerOf, type KeyState, press } from './keys.ts';

function after(...sent: string[]): KeyState {
  const state: KeyState = {
    sort: 'trouble',
    reverse: false,
    filter: '',
    offset: 0,
    typing: undefined,
    ended: false,
  };
  for (const keys of sent) press(state, keys, 10);
  return state;
}

it('ends by q and by Ctrl-C, the latter also while a filter is typed', () => {
  expect(after('q').ended).toBe(true);
  expect(after('\x03').ended).toBe(true);
  expect(after('/', 'q').ended).toBe(false);
  expect(after('/', '\x03').ended).toBe(true);
});

it('walks through the orders in both directions, and round', () => {
  expect(after('s').sort).toBe('name');
  expect(after('S').sort).toBe('picks');
  expect(after('sS').sort).toBe('trouble');
  expect(after('r').reverse).toBe(true);
});

it('scrolls by lines and pages, and not above the first', () => {
  expect(after('\x1b[B\x1b[B', 'j').offset).toBe(3);
  expect(after('\x1b[6~', 'k').offset).toBe(9);
  expect(after('\x1b[A').offset).toBe(0);
  expect(after(' ', 'g').offset).toBe(0);
});

it('filters while one types, with mistakes taken back', () => {
  expect(after('j/stalx\x7fe')).toMatchObject({ typing: 'stale', filter: 'stale', offset: 0 });
  expect(after('/ab\r')).toMatchObject({ typing: undefined, filter: 'ab' });
  expect(after('/ab\x1b')).toMatchObject({ typing: undefined, filter: '' });
  expect(after('/ab\r', '\x1b').filter).toBe('');
  // An arrow is no text.
  expect(after('/a', '\x1b[A').filter).toBe('a');
  expect(after(`/${'x'.repeat(500)}`).filter.length).toBe(200);
});

it('says what the keys are, and what is being typed', () => {
  expect(footerOf(after()).length).toBeLessThanOrEqual(80);
  expect(footerOf(after('/ab'))).toContain('ab_');
});
