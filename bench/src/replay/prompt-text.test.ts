import { expect, it } from 'vitest';
import { promptText } from './prompt-text.ts';

const request = (id: number, blocks: number[], promptTokens: number) => ({
  id,
  atMs: 0,
  promptTokens,
  outputTokens: 1,
  blocks,
  engineBlocks: blocks,
  session: -1,
  replica: 0,
  isLong: false,
});

it('shares whole blocks where the request does, and no more', () => {
  const a = promptText(request(1, [5, 6, 7], 200));
  const b = promptText(request(2, [5, 6, 8], 200));
  expect(a).toHaveLength(800);
  expect(b.slice(0, 512)).toBe(a.slice(0, 512));
  expect(b.slice(512, 768)).not.toBe(a.slice(512, 768));
  expect(b.slice(768)).not.toBe(a.slice(768));
});
