import { expect, test } from 'vitest';
import { withoutSignature } from './media-url.ts';

test.each([
  ['https://a.example/x.png', 'https://a.example/x.png'],
  ['https://a.example/x.png?size=2#part', 'https://a.example/x.png?size=2'],
  ['https://a.example/x?X-Amz-Signature=1&x-amz-date=2&size=2', 'https://a.example/x?size=2'],
  ['https://a.example/x?X-Goog-Algorithm=1&X-Goog-Signature=2', 'https://a.example/x'],
  ['https://a.example/x?Policy=1&Signature=2&Key-Pair-Id=3', 'https://a.example/x'],
  ['https://a.example/x?sv=1&se=2&sp=r&sig=3&snapshot=4', 'https://a.example/x?snapshot=4'],
  ['https://a.example/x?sv=1&se=2', 'https://a.example/x?sv=1&se=2'],
  ['https://a.example/x?', 'https://a.example/x?'],
])('%s', (url, expected) => {
  expect(withoutSignature(url)).toBe(expected);
});
