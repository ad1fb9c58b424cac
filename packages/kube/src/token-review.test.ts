import { beforeEach, expect, it } from 'vitest';
import type { KubeClient } from './client.ts';
import { KubeError, kubeErrorCode } from './error.ts';
import { TokenReviewer } from './token-review.ts';

let nowMs: number;
let asked: unknown[];
let answer: () => unknown;
let reviewer: TokenReviewer;

const believing = (audiences = ['leadsman'], username = 'system:serviceaccount:ns:agent') => ({
  status: { authenticated: true, audiences, user: { username } },
});

beforeEach(() => {
  nowMs = 0;
  asked = [];
  answer = () => believing();
  const client = {
    json: async (_method: string, _path: string, { body }: { body: unknown }) => {
      asked.push(body);
      return answer();
    },
  } as unknown as KubeClient;
  reviewer = new TokenReviewer({ client, audience: 'leadsman', nowMs: () => nowMs });
});

const away = () => {
  throw new KubeError(kubeErrorCode.connect, 'away');
};

it('asks for our audience, once per token and minute', async () => {
  const [first, second] = await Promise.all([reviewer.review('t'), reviewer.review('t')]);
  expect(first).toEqual({ status: 'believed', user: 'system:serviceaccount:ns:agent' });
  expect(second).toEqual(first);
  nowMs = 59_000;
  await reviewer.review('t');
  expect(asked).toMatchObject([{ spec: { token: 't', audiences: ['leadsman'] } }]);
  nowMs = 61_000;
  await reviewer.review('t');
  expect(asked).toHaveLength(2);
});

it.each([
  ['no token of this cluster', () => ({ status: { authenticated: false } })],
  ['a token for another audience', () => believing(['https://kubernetes.default.svc'])],
  ['a server that knows no audiences', () => ({ status: { authenticated: true } })],
  ['a user who is no service account', () => believing(['leadsman'], 'jane')],
  ['an answer that is none', () => undefined],
])('does not believe %s', async (_, given) => {
  answer = given;
  expect(await reviewer.review('t')).toEqual({ status: 'refused' });
});

it('does not ask about what can be no token', async () => {
  for (const token of ['', 'x'.repeat(20_000)]) {
    expect(await reviewer.review(token)).toEqual({ status: 'refused' });
  }
  expect(asked).toEqual([]);
});

it('goes on believing a known token for ten minutes while nobody answers', async () => {
  await reviewer.review('known');
  answer = away;
  nowMs = 300_000;
  expect((await reviewer.review('known')).status).toBe('believed');
  expect((await reviewer.review('other')).status).toBe('unknown');
  nowMs = 601_000;
  expect((await reviewer.review('known')).status).toBe('unknown');
});
