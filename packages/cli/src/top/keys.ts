/** What the keys of `top` do to what is shown. */
import { type SortKey, sortKeys, type View } from './order.ts';

export interface KeyState extends View {
  offset: number;
  /** What is being typed after `/`; undefined: nothing is. */
  typing: string | undefined;
  ended: boolean;
}

const filterCharsMax = 200;

const helpLine = 'q quit  s/S sort  r reverse  / filter (!word: without)  ↑↓ PgUp PgDn scroll';

/** The line at the bottom. */
export function footerOf({ typing }: KeyState): string {
  return typing === undefined ? helpLine : `filter: ${typing}_  (Enter: done, Esc: none)`;
}

/** Takes what a terminal sent, which may be several keys at once. `page`: endpoints on a screen. */
export function press(state: KeyState, sent: string, page: number): void {
  // An escape sequence is one key.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters
  for (const key of sent.match(/\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|[\s\S]/gu) ?? []) {
    if (key === '\x03') state.ended = true;
    else if (state.typing === undefined) command(state, key, page);
    else type(state, state.typing, key);
  }
}

function command(state: KeyState, key: string, page: number): void {
  const moves: Readonly<Record<string, number>> = {
    '\x1b[A': -1,
    '\x1bOA': -1,
    k: -1,
    '\x1b[B': 1,
    '\x1bOB': 1,
    j: 1,
    '\x1b[5~': -page,
    '\x1b[6~': page,
    ' ': page,
    '\x1b[H': Number.NEGATIVE_INFINITY,
    g: Number.NEGATIVE_INFINITY,
  };
  const move = moves[key];
  if (move !== undefined) state.offset = Math.max(0, state.offset + move);
  else if (key === 'q') state.ended = true;
  else if (key === 'r') state.reverse = !state.reverse;
  else if (key === 's') state.sort = next(state.sort, 1);
  else if (key === 'S') state.sort = next(state.sort, -1);
  else if (key === '/') state.typing = state.filter;
  else if (key === '\x1b') state.filter = '';
}

/** The list follows while one types. */
function type(state: KeyState, typed: string, key: string): void {
  if (key === '\r' || key === '\n') state.typing = undefined;
  else if (key === '\x1b') {
    state.typing = undefined;
    state.filter = '';
  } else {
    const isErase = key === '\x7f' || key === '\b';
    if (isErase) state.typing = typed.slice(0, -1);
    else if (key >= ' ' && typed.length < filterCharsMax) state.typing = typed + key;
    state.filter = state.typing ?? '';
    state.offset = 0;
  }
}

function next(sort: SortKey, step: number): SortKey {
  const at = sortKeys.indexOf(sort) + step + sortKeys.length;
  return sortKeys[at % sortKeys.length]!;
}
