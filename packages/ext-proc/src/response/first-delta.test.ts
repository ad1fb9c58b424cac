import { describe, expect, test } from 'vitest';
import { FirstDelta } from './first-delta.ts';

const data = (event: object, prefix = 'data: ') => `${prefix}${JSON.stringify(event)}\n\n`;
const chat = (delta: object, finish: string | null = null) =>
  data({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    usage: { prompt_tokens: 9, completion_tokens: 0 },
  });

/** Events that show no token, and the first that does. */
const streams: [string, string[], string][] = [
  [
    'chat',
    [': ping\n\n', chat({ role: 'assistant', content: '' }), chat({ content: '' })],
    chat({ content: 'é😀' }),
  ],
  ['chat that reasons', [chat({ role: 'assistant' })], chat({ reasoning_content: 'Hm' })],
  [
    'chat that calls a tool',
    [chat({ role: 'assistant', content: null })],
    chat({ tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'f' } }] }),
  ],
  ['chat that ends at once', [chat({ role: 'assistant', content: '' })], chat({}, 'stop')],
  [
    'completions',
    [data({ choices: [{ text: '', finish_reason: null }] })],
    data({ choices: [{ text: ' ', finish_reason: null }] }),
  ],
  [
    'responses',
    [
      `event: response.created\n${data({
        type: 'response.created',
        response: { instructions: 'Be kind', text: { format: { type: 'text' } }, output: [] },
      })}`,
      data({ type: 'response.output_item.added', item: { type: 'message', content: [] } }),
      data({ type: 'response.content_part.added', part: { type: 'output_text', text: '' } }),
      data({ type: 'response.output_text.delta', delta: '' }),
    ],
    data({ type: 'response.output_text.delta', delta: 'Hi' }),
  ],
  [
    'Anthropic messages',
    [
      `event: message_start\n${data({
        type: 'message_start',
        message: { content: [], role: 'assistant', usage: { input_tokens: 9, output_tokens: 1 } },
      })}`,
      `event: ping\n${data({ type: 'ping' })}`,
      data({ type: 'content_block_start', content_block: { type: 'text', text: '' } }),
      data({ type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '' } }),
    ],
    data({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'Hi' } }),
  ],
  [
    'Anthropic thinking',
    [data({ type: 'content_block_start', content_block: { type: 'thinking', thinking: '' } })],
    data({ type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'Hm' } }),
  ],
  [
    'no blank after the colon',
    [data({ choices: [{ delta: {} }] }, 'data:')],
    'data:{"text":"x"}\n\n',
  ],
  ['CR LF', [':\r\n\r\nretry: 5\r\n\r\n'], 'data: {"choices":[{"text":"\\u00e9"}]}\r\n\r\n'],
  ['CR', [': a\r\rid\r\r'], 'data: {"text_output":"x"}\r\r'],
  ['one event over two lines', ['data: {"choices":\n'], 'data: [{"text":"x"}]}\n\n'],
  ['an event that breaks off', ['data: {"choices":[\n\n'], data({ token: { id: 1, text: 'x' } })],
  [
    'an error and the end',
    [data({ error: { message: 'no' } }), 'data: [DONE]\n\n'],
    '{"text":"x"}',
  ],
  ['a document after blanks', [' \n\n  '], '{"choices":[{"message":{"content":"x"}}]}'],
  ['an answer that is no JSON', ['\n'], 'dates'],
];

describe.each(streams)('%s', (_, before, first) => {
  test.each([1, 2, 3, 7, 4_096])('in chunks of %i bytes', (step) => {
    const finder = new FirstDelta();
    const feed = (text: string) => {
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += step) finder.feed(bytes.subarray(at, at + step));
    };
    for (const event of before) {
      feed(event);
      expect([event, finder.found]).toEqual([event, false]);
    }
    feed(first);
    expect(finder.found).toBe(true);
  });
});

test('what an event says of the request is no token', () => {
  const finder = new FirstDelta();
  finder.feed(
    Buffer.from(
      data({
        response: { input: [{ content: [{ type: 'input_text', text: 'A question' }] }] },
        choices: [{ prompt: 'A question', delta: { role: 'assistant' } }],
        metadata: { text: 'A note' },
      }),
    ),
  );
  expect(finder.found).toBe(false);
});
