import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UsageFinder } from './usage-finder.ts';

function find(text: string, step = Number.POSITIVE_INFINITY): number {
  const bytes = Buffer.from(text);
  const finder = new UsageFinder();
  for (let at = 0; at < bytes.length; at += step) finder.feed(bytes.subarray(at, at + step));
  return finder.outputTokens;
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const answers: [string, string, number][] = [
  ['completions', JSON.stringify({ choices: [], usage: { completion_tokens: 41 } }), 41],
  [
    'chat stream with usage in its last event',
    event({ choices: [{ delta: { content: 'é😀' } }], usage: null }) +
      event({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 17, total_tokens: 22 } }) +
      'data: [DONE]\n\n',
    17,
  ],
  [
    'responses stream',
    `event: response.completed\n${event({
      response: { usage: { output_tokens: 9, output_tokens_details: { reasoning_tokens: 3 } } },
    })}`,
    9,
  ],
  [
    'Anthropic stream, cumulative',
    event({ type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } }) +
      event({ type: 'message_delta', usage: { output_tokens: 30 } }),
    30,
  ],
  ['odd spaces', '{"usage" : { "completion_tokens" \n: 8 }}', 8],
  ['number at the very end', '"output_tokens":12', 12],
  ['no usage', event({ choices: [] }), -1],
  ['null', '{"usage":{"completion_tokens":null}}', -1],
];

test.each(answers)('%s', (_, text, tokens) => {
  for (const step of [1, 2, 5, 13, 4_096]) expect(find(text, step)).toBe(tokens);
});

test('generated text cannot pose as usage', () => {
  const text = event({ choices: [{ text: '"completion_tokens": 999, "output_tokens":999' }] });
  expect(find(text + event({ usage: { completion_tokens: 2 } }))).toBe(2);
});

test('arbitrary text around and within changes nothing', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), fc.integer({ min: 1, max: 50 }), (noise, step) => {
      const text =
        event({ choices: [{ text: noise }] }) +
        event({ usage: { completion_tokens: 5 } }) +
        event({ id: noise });
      expect(find(text, step)).toBe(5);
    }),
  );
});
