import { expect, test } from 'vitest';
import { computes } from './inference-call.ts';

test.each([
  ['POST', '/v1/chat/completions', true],
  ['POST', '/v1/messages?beta=true', true],
  ['POST', '/v1/unknown', true],
  ['POST', '/prefix/v1/embeddings/', true],
  ['POST', '/v1/completions?next=/tokenize', true],
  [undefined, undefined, true],
  ['POST', '/v1/messages/count_tokens', false],
  ['POST', '/v1/messages/count_tokens?beta=true', false],
  ['POST', '/v1/chat/completions/render', false],
  ['POST', '/tokenize', false],
  ['POST', '/detokenize/', false],
  ['GET', '/v1/models', false],
  ['GET', '/v1/models/name', false],
  ['HEAD', '/v1/chat/completions', false],
])('%s %s computes: %s', (method, path, expected) => {
  expect(computes(method, path, false)).toBe(expected);
});

test('a GET that opens a socket computes', () => {
  expect(computes('GET', '/v1/realtime', true)).toBe(true);
});
