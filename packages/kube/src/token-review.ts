/**
 * Whether a bearer token is one of a service account of this cluster, by the API server's
 * TokenReview. Answers are kept for a while, by the token's hash: senders dial again and again, and
 * one that was believed must not lose its way because the API server is away.
 */
import { createHash } from 'node:crypto';
import type { KubeClient } from './client.ts';
import { KubeError } from './error.ts';

export interface TokenReviewerOptions {
  client: KubeClient;
  /** The audience that tokens must be made for; a token for another service is none for us. */
  audience: string;
  /** Monotonic, ms. */
  nowMs: () => number;
  onError?: (error: KubeError) => void;
}

/** `system:serviceaccount:NAMESPACE:NAME`, or why not. */
export type TokenVerdict =
  | { status: 'believed'; user: string }
  | { status: 'refused' }
  /** The API server was not to be had, and nothing is known of this token. */
  | { status: 'unknown' };

interface Known {
  verdict: TokenVerdict;
  askedMs: number;
}

/** A token that was believed is asked about again after this long, ms. */
const believedMs = 60_000;
/** And believed for this long while nobody answers, ms: tokens live for an hour or more. */
const believedUnansweredMs = 600_000;
const refusedMs = 10_000;
/** Tokens remembered; a pod has one at a time. */
const knownMax = 20_000;
/** Longest token that is looked at; a JWT of a service account has about 1,200 characters. */
const tokenCharsMax = 16_384;

export class TokenReviewer {
  readonly #options: TokenReviewerOptions;
  readonly #known = new Map<string, Known>();
  readonly #asking = new Map<string, Promise<TokenVerdict>>();

  constructor(options: TokenReviewerOptions) {
    this.#options = options;
  }

  /** Never rejects. Two questions about one token at once are one. */
  async review(token: string): Promise<TokenVerdict> {
    if (token === '' || token.length > tokenCharsMax) return { status: 'refused' };
    const hash = createHash('sha256').update(token).digest('base64');
    const nowMs = this.#options.nowMs();
    const known = this.#known.get(hash);
    const keptMs = known?.verdict.status === 'believed' ? believedMs : refusedMs;
    if (known !== undefined && nowMs - known.askedMs < keptMs) return known.verdict;
    let asking = this.#asking.get(hash);
    if (asking === undefined) {
      asking = this.#ask(token, hash).finally(() => this.#asking.delete(hash));
      this.#asking.set(hash, asking);
    }
    const verdict = await asking;
    if (verdict.status !== 'unknown' || known === undefined) return verdict;
    const isStillGood = nowMs - known.askedMs < believedUnansweredMs;
    return known.verdict.status === 'believed' && isStillGood ? known.verdict : verdict;
  }

  async #ask(token: string, hash: string): Promise<TokenVerdict> {
    const { client, audience, nowMs, onError } = this.#options;
    try {
      const answer = await client.json('POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          spec: { token, audiences: [audience] },
        },
        idleMs: 5_000,
      });
      const verdict = verdictOf(answer, audience);
      this.#remember(hash, { verdict, askedMs: nowMs() });
      return verdict;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      onError?.(error);
      return { status: 'unknown' };
    }
  }

  #remember(hash: string, known: Known): void {
    this.#known.delete(hash);
    const [oldest] = this.#known.keys();
    if (this.#known.size >= knownMax && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(hash, known);
  }
}

interface ReviewAnswer {
  status?: { authenticated?: boolean; audiences?: string[]; user?: { username?: string } };
}

/** An API server that knows nothing of audiences names none; its word is not enough then. */
function verdictOf(answer: unknown, audience: string): TokenVerdict {
  const { status } = (answer ?? {}) as ReviewAnswer;
  const user = status?.user?.username ?? '';
  const isMeant = status?.audiences?.includes(audience) === true;
  const isAccount = user.startsWith('system:serviceaccount:');
  if (status?.authenticated !== true || !isMeant || !isAccount) return { status: 'refused' };
  return { status: 'believed', user };
}
