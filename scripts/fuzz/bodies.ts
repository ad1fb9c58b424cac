/** Bodies of requests and responses: read the same in whatever pieces they come. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { RequestFields } from '../../packages/ext-proc/src/request/request-fields.ts';
import { UsageFinder } from '../../packages/ext-proc/src/response/usage-finder.ts';
import { type FuzzTarget, pieces } from './target.ts';

const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
const text = fc.string({ maxLength: 30, unit: 'grapheme' });
const content = fc.oneof(
  text,
  fc.array(fc.record({ type: fc.constant('text'), text }), { maxLength: 3 }),
  fc.constant([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }]),
);
const chat = fc.record({
  model: text,
  messages: fc.array(fc.record({ role: fc.constantFrom('system', 'user'), content }), {
    maxLength: 4,
  }),
  max_tokens: fc.nat(100_000),
  stream: fc.boolean(),
  tools: fc.constantFrom(undefined, [{ type: 'function', function: { name: 'f' } }]),
});
const completion = fc.record({
  model: text,
  prompt: fc.oneof(text, fc.array(text, { maxLength: 3 }), fc.array(fc.nat(50_000))),
});

function fieldsOf(parts: Iterable<Uint8Array>): RequestFields {
  const fields = new RequestFields();
  for (const part of parts) fields.scanner.feed(part, 0, part.length);
  return fields;
}

function told(fields: RequestFields): object {
  const { model, maxOutputTokens, streaming, cacheIdentity, promptTokens } = fields;
  const prompt = Buffer.from(fields.prompt ?? []).toString('latin1');
  return { model, maxOutputTokens, streaming, cacheIdentity, promptTokens, prompt };
}

function checkRequest(input: Uint8Array, piecesOf: (input: Uint8Array) => Iterable<Uint8Array>) {
  const whole = fieldsOf([input]);
  assert.deepEqual(told(fieldsOf(piecesOf(input))), told(whole));
  assert.ok(whole.promptTokens >= 0 && Number.isFinite(whole.promptTokens));
  if (isObject(input))
    assert.ok(whole.scanner.complete, 'a sound object is not followed to its end');
}

/** Whether JSON.parse takes it, as UTF-8 without repairs, for an object. */
function isObject(input: Uint8Array): boolean {
  try {
    const parsed: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(input));
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}

const keys = [
  '"model":',
  '"prompt":',
  '"messages":',
  '"content":',
  '"max_tokens":',
  '"stream":true',
];

export const request: FuzzTarget = {
  name: 'request',
  sound: fc.oneof(chat, completion).map((each) => bytesOf(JSON.stringify(each))),
  tokens: [...keys, '\\u0000', '\\ud83d', '\\', '"', '{', '}', '[', ']', '1e309', '-', 'null'],
  check: (input) => checkRequest(input, pieces),
  planted: {
    what: 'an escape that is cut between two chunks is forgotten',
    check: (input) =>
      checkRequest(input, function* (bytes) {
        for (const piece of pieces(bytes)) {
          yield piece.at(-1) === 0x5c ? piece.subarray(0, piece.length - 1) : piece;
        }
      }),
  },
};

const usage = fc.record({ completion_tokens: fc.nat(100_000), prompt_tokens: fc.nat(100_000) });
const event = fc.oneof(
  fc.record({ choices: fc.array(fc.record({ delta: fc.record({ content: text }) })) }),
  fc.record({ choices: fc.constant([]), usage }),
  fc.record({ type: fc.constant('message_delta'), usage: fc.record({ output_tokens: fc.nat() }) }),
);

function tokensOf(parts: Iterable<Uint8Array>): number {
  const finder = new UsageFinder();
  for (const part of parts) finder.feed(part);
  return finder.outputTokens;
}

function checkUsage(input: Uint8Array, find: typeof tokensOf): void {
  const whole = find([input]);
  assert.equal(find(pieces(input)), whole);
  assert.ok(Number.isInteger(whole) && whole >= -1, `${whole} tokens`);
}

export const usageFinder: FuzzTarget = {
  name: 'usage',
  sound: fc
    .array(event, { maxLength: 5 })
    .map((events) => bytesOf(events.map((each) => `data: ${JSON.stringify(each)}\n\n`).join(''))),
  tokens: ['"completion_tokens":', '"output_tokens":', '"', '\\"', ' : ', '9'.repeat(40), 'null'],
  check: (input) => checkUsage(input, tokensOf),
  planted: {
    what: 'each chunk is looked at by itself',
    check: (input) =>
      checkUsage(input, (parts) => {
        let tokens = -1;
        for (const part of parts) tokens = Math.max(tokens, tokensOf([part]));
        return tokens;
      }),
  },
};
