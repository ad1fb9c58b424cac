import { expect, it } from 'vitest';
import { podKeyFromUid, podKeyText } from './pod-key.ts';

it('takes the bytes of a UUID, with and without dashes, and hashes other text', () => {
  const uid = '0b8c1c52-3f5e-4f0e-9d59-6f1f4a1f6b11';
  expect(podKeyText(podKeyFromUid(uid))).toBe(uid);
  expect(podKeyText(podKeyFromUid(uid.replaceAll('-', '').toUpperCase()))).toBe(uid);
  expect(podKeyText(podKeyFromUid('engine-1'))).not.toBe(podKeyText(podKeyFromUid('engine-2')));
  expect(podKeyText(podKeyFromUid('engine-1'))).toBe(podKeyText(podKeyFromUid('engine-1')));
});
