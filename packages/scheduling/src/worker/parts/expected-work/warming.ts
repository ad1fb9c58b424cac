/**
 * Warming one more endpoint for a popular beginning of prompts, as an investment.
 *
 * A text that a share q of all prompts begin with makes a share q of the pool's load. It can only be
 * spread over the pool when about q × N of its N endpoints hold it; before that, whoever is sent to
 * another one pays for all who follow. So while fewer hold it, the tokens of that beginning are
 * charged by the part that falls to one request: 1 / (1 + uses / (holders + 1)), with the uses that
 * the text had lately and the holders it would share them with.
 *
 * Texts that are used one after another, a session's say, are a small part of all prompts: one
 * holder is enough for them, and they are charged in full.
 */
import type { PickContext } from '../part.ts';

/** Endpoints that should hold a text, in multiples of its share of the load. */
const headroom = 2;
/** Fewer uses say nothing of what is to come. */
const usesMin = 4;

export class Warming {
  #popularTokens = 0;
  #discount = 0;

  /**
   * Begins a pick. `matched` holds the cached prompt tokens of `compared` endpoints out of a pool of
   * `count`.
   */
  begin(context: PickContext, matched: Float64Array, compared: number, count: number): void {
    const { prompt } = context;
    this.#discount = 0;
    // Below this share of the load one endpoint is enough.
    const usesOfEndpoint = prompt.usesOfAll() / (headroom * count);
    this.#popularTokens = prompt.popularTokens(Math.max(usesMin, usesOfEndpoint));
    if (this.#popularTokens === 0) return;
    let holders = 0;
    for (let i = 0; i < compared; i++) if (matched[i]! >= this.#popularTokens) holders++;
    holders *= count / compared;
    const uses = prompt.popularUses();
    if (holders >= uses / usesOfEndpoint) return;
    this.#discount = 1 - 1 / (1 + uses / (holders + 1));
  }

  /** Tokens that an endpoint which has `matched` of the prompt need not be charged. */
  discount(matched: number): number {
    return this.#discount * Math.max(0, this.#popularTokens - matched);
  }
}
