import { describe, expect, test } from 'vitest';
import { RequestFields } from './request-fields.ts';

function read(body: string, chunkBytes: number): RequestFields {
  const bytes = Buffer.from(body);
  const fields = new RequestFields();
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    fields.scanner.feed(bytes, at, Math.min(bytes.length, at + chunkBytes));
  }
  return fields;
}

/** The same however the body is cut. */
function identityOf(body: object | string): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const whole = read(text, text.length).cacheIdentity;
  expect(read(text, 1).cacheIdentity).toBe(whole);
  expect(read(text, 7).cacheIdentity).toBe(whole);
  return whole;
}

const base = { model: 'm', prompt: 'the same 8,000 tokens' };

describe('requests that share no cache', () => {
  test('have another salt, or none', () => {
    const a = identityOf({ ...base, cache_salt: 'tenant-a' });
    const b = identityOf({ ...base, cache_salt: 'tenant-b' });
    expect(new Set([a, b, identityOf(base)]).size).toBe(3);
    expect(identityOf({ cache_salt: 'tenant-a', ...base })).toBe(a);
  });

  test('are for another adapter', () => {
    expect(identityOf({ ...base, model: 'n' })).not.toBe(identityOf(base));
    expect(identityOf({ ...base, lora_path: 'a' })).not.toBe(identityOf(base));
  });

  test('name the same text in another field', () => {
    const texts = ['cache_salt', 'cache_salt_id', 'extra_key', 'lora_path'].map((field) =>
      identityOf({ ...base, [field]: '7' }),
    );
    expect(new Set(texts).size).toBe(texts.length);
    expect(identityOf({ ...base, cache_salt_id: 7 })).toBe(texts[1]);
  });

  test('have lists of keys that differ in where one ends', () => {
    const keys = [['ab', 'c'], ['a', 'bc'], ['abc']];
    const texts = keys.map((extra_key) => identityOf({ ...base, extra_key }));
    expect(new Set(texts).size).toBe(3);
  });

  test('have long salts that differ at the end only in length', () => {
    const salt = 'x'.repeat(6_000);
    expect(identityOf({ ...base, cache_salt: salt })).not.toBe(
      identityOf({ ...base, cache_salt: `${salt}y` }),
    );
  });
});

test('a session is known by its id, whatever else a turn says of it', () => {
  const turn = (id: string, offset: number) =>
    identityOf({ ...base, session_params: { rid: `turn ${offset}`, offset, id, replace: true } });
  expect(turn('one', 3)).toBe(turn('one', 9));
  expect(turn('one', 3)).not.toBe(turn('two', 3));
});

test('null, false and nothing are no salt, and the last of two counts', () => {
  expect(identityOf({ ...base, cache_salt: null, extra_key: false })).toBe(identityOf(base));
  expect(identityOf('{"model":"m","cache_salt":"a","cache_salt":"b"}')).toBe(
    identityOf('{"model":"m","cache_salt":"b"}'),
  );
  expect(identityOf({ prompt: 'x' })).toBe('');
});

test('a salt deeper in the body is text of somebody else', () => {
  const nested = { ...base, metadata: { cache_salt: 'a' }, messages: [{ cache_salt: 'b' }] };
  expect(identityOf(nested)).toBe(identityOf(base));
});

test('a reader that is used again knows nothing of the request before', () => {
  const fields = read(JSON.stringify({ ...base, cache_salt: 'a' }), 1_000);
  fields.reset();
  const next = Buffer.from(JSON.stringify(base));
  fields.scanner.feed(next, 0, next.length);
  expect(fields.cacheIdentity).toBe(identityOf(base));
});

describe('media', () => {
  const promptWith = (url: string): string => {
    const content = [{ type: 'image_url', image_url: { url } }];
    const text = JSON.stringify({ messages: [{ role: 'user', content }] });
    return Buffer.from(read(text, 5).prompt!).toString('latin1');
  };
  const link = 'https://store.example/cat.png?versionId=3';

  test('are the same through each signed link to one object', () => {
    const signed = (signature: string) =>
      `${link}&X-Amz-Date=${signature}&X-Amz-Signature=${signature}&Expires=9${signature}`;
    expect(promptWith(signed('1'))).toBe(promptWith(signed('2')));
    expect(promptWith(signed('1'))).toBe(promptWith(link));
  });

  test('differ by path, by any other parameter and by content', () => {
    const all = [
      link,
      link.replace('cat', 'dog'),
      link.replace('=3', '=4'),
      'data:image/png;base64,QUFB',
      'data:image/png;base64,QUFC',
    ].map(promptWith);
    expect(new Set(all).size).toBe(all.length);
  });
});
