import { describe, expect, test } from 'vitest';
import { RequestFields } from './request-fields.ts';

function read(body: string | object, chunkBytes = Number.POSITIVE_INFINITY): RequestFields {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = Buffer.from(text);
  const fields = new RequestFields();
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    fields.scanner.feed(bytes, at, Math.min(bytes.length, at + chunkBytes));
  }
  return fields;
}
const promptOf = (fields: RequestFields) =>
  fields.prompt === undefined ? undefined : Buffer.from(fields.prompt).toString('utf8');

describe('every legal shape of a prompt has a length', () => {
  const shapes: [string, unknown][] = [
    ['a string', 'hi'],
    ['a list of strings', ['a', 'b']],
    ['token ids', [1, 2, 3]],
    ['lists of token ids', [[1, 2], [3]]],
  ];
  test.each(shapes)('%s as prompt and as embeddings input', (_, shape) => {
    for (const key of ['prompt', 'input']) {
      const fields = read({ model: 'm', [key]: shape });
      expect(fields.scanner.complete).toBe(true);
      expect(fields.model).toBe('m');
      expect(fields.promptTokens).toBeGreaterThan(0);
      expect(fields.prompt?.length).toBeGreaterThan(0);
    }
  });

  test('token ids count exactly', () => {
    expect(read({ prompt: [[1, 2], [3]] }).promptTokens).toBe(3);
    expect(read({ prompt: Array.from({ length: 5_000 }, (_, i) => i) }).promptTokens).toBe(5_000);
  });

  test('chat content as text, as parts, and Anthropic system text', () => {
    const text = read({ messages: [{ role: 'user', content: 'hello there' }] });
    const parts = read({
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello there' }] }],
    });
    expect(promptOf(text)).toBe('user\0hello there\0');
    expect(promptOf(parts)).toBe(promptOf(text));
    const anthropic = read({
      max_tokens: 9,
      messages: [{ role: 'user', content: 'q' }],
      system: [{ type: 'text', text: 'be brief' }],
    });
    expect(promptOf(anthropic)).toBe('be brief\0user\0q\0');
    expect(anthropic.maxOutputTokens).toBe(9);
  });

  test('an image counts as some tokens, and two images differ', () => {
    const withImage = (url: string) =>
      read({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] });
    const one = withImage(`data:image/png;base64,${'A'.repeat(50_000)}`);
    const other = withImage(`data:image/png;base64,${'B'.repeat(50_000)}`);
    expect(one.promptTokens).toBeLessThan(2_000);
    expect(one.prompt?.length).toBeLessThan(100);
    expect(promptOf(one)).not.toBe(promptOf(other));
  });
});

test('odd spaces, escapes in keys and values, and any order of keys are read as they mean', () => {
  const fields = read(
    '\n{ "max_tokens" :  12 , "pr\\u006fmpt":"a\\n\\u00e9\\ud83d\\ude00\\ud800x", "mod\\u0065l" : "ali\\u0061s" }  ',
  );
  expect(fields.model).toBe('alias');
  expect(fields.maxOutputTokens).toBe(12);
  expect(promptOf(fields)).toBe('a\né😀\ufffdx\0');
  expect(fields.scanner.complete).toBe(true);
});

test('the result does not depend on where chunks are cut', () => {
  const body = JSON.stringify({
    model: 'größe/模型',
    messages: [
      { role: 'system', content: 'Überlegen Sie "gut" \\ 😀' },
      { role: 'user', content: [{ type: 'text', text: '\u0001 tab\t' }] },
    ],
    max_completion_tokens: 1234,
    stream: true,
  });
  const whole = read(body);
  for (const chunkBytes of [1, 2, 3, 7, 64]) {
    const cut = read(body, chunkBytes);
    expect(promptOf(cut)).toBe(promptOf(whole));
    expect(cut.model).toBe('größe/模型');
    expect(cut.maxOutputTokens).toBe(1234);
    expect(cut.promptTokens).toBe(whole.promptTokens);
    expect(cut.streaming).toBe(true);
  }
});

test('only keys of the outermost object count, and the last of two', () => {
  const fields = read(
    '{"metadata":{"model":"inner","prompt":"inner"},"model":"first","model":"last","prompt":"a","prompt":"b"}',
  );
  expect(fields.model).toBe('last');
  expect(promptOf(fields)).toBe('b\0');
});

test('a model in the text of a prompt is text', () => {
  const fields = read({ prompt: '"model":"fake","max_tokens":1}', model: 'real' });
  expect(fields.model).toBe('real');
  expect(fields.maxOutputTokens).toBe(0);
});

test('tools and system come first whatever the order of keys', () => {
  const parts = { tools: [{ name: 't' }], system: 's', messages: [{ content: 'm' }] };
  const forward = read(parts);
  const backward = read(Object.fromEntries(Object.entries(parts).reverse()));
  expect(promptOf(forward)).toBe('t\0s\0m\0');
  expect(promptOf(backward)).toBe(promptOf(forward));
});

test.each([
  ['an array', '[1]'],
  ['text', 'hello'],
  ['two objects', '{}{}'],
  ['a missing colon', '{"a" 1}'],
  ['a trailing comma', '{"a":1,}'],
  ['crossed brackets', '{"a":[}]'],
  ['a bad escape', '{"a":"\\q"}'],
  ['nesting without end', `{"a":${'['.repeat(600)}`],
])('%s is given up on without an error', (_, body) => {
  expect(read(body).scanner.failed).toBe(true);
});

test('a cut-off document is neither complete nor failed, and what came is known', () => {
  const fields = read('{"model":"m","prompt":"be');
  expect([fields.scanner.complete, fields.scanner.failed]).toEqual([false, false]);
  expect(fields.model).toBe('m');
  expect(promptOf(fields)).toBe('be');
});

test('a long prompt is measured to its end but kept only in part', () => {
  const fields = read({ prompt: 'word '.repeat(200_000) });
  expect(fields.promptTokens).toBe(250_000);
  expect(fields.prompt!.length).toBe(262_144);
});

test('a reader is reused without anything left of the last body', () => {
  const fields = read({ model: 'm', prompt: 'p', max_tokens: 3, stream: true });
  fields.reset();
  const bytes = Buffer.from('{}');
  fields.scanner.feed(bytes, 0, bytes.length);
  expect([fields.model, fields.prompt, fields.promptTokens, fields.maxOutputTokens]).toEqual([
    '',
    undefined,
    0,
    0,
  ]);
});
