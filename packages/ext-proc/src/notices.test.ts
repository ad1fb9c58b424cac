import { beforeEach, expect, test } from 'vitest';
import { Notices, noticeIntervalMs, responsesMissingMax } from './notices.ts';

const gateway = { peer: '10.0.0.9' };
let nowMs: number;
let lines: { level: string; fields: Record<string, unknown>; message: string }[];
let notices: Notices;
beforeEach(() => {
  nowMs = 1_000;
  lines = [];
  const log = (level: string) => (fields: object, message: string) => {
    lines.push({ level, fields: fields as Record<string, unknown>, message });
  };
  notices = new Notices({ warn: log('warn'), error: log('error') }, () => nowMs);
});

test('each kind is said at once, then once a minute with how often it happened', () => {
  for (let i = 0; i < 5; i++) notices.misconfigured('request_header_mode', gateway);
  notices.misconfigured('response_body_mode', gateway);
  expect(lines.map(({ fields }) => fields)).toEqual([
    { setting: 'request_header_mode', peer: '10.0.0.9', times: 1 },
    { setting: 'response_body_mode', peer: '10.0.0.9', times: 1 },
  ]);
  expect(lines[0]!.message).toContain('request_header_mode: SEND');
  nowMs += noticeIntervalMs;
  notices.misconfigured('request_header_mode', { peer: '10.0.0.8' });
  expect(lines[2]!.fields).toMatchObject({ peer: '10.0.0.8', times: 5 });
});

test('a fault is logged with its cause', () => {
  const cause = new Error('why');
  notices.fault('pick', cause);
  notices.fault('pick', new Error('again'));
  expect(lines).toEqual([
    {
      level: 'error',
      fields: { err: cause, place: 'pick', times: 1 },
      message: expect.any(String),
    },
  ]);
});

test('picks without a response are worth a line only when there are many in a row', () => {
  for (let i = 1; i < responsesMissingMax; i++) notices.endedWithoutResponse(gateway);
  notices.responded();
  for (let i = 1; i < responsesMissingMax; i++) notices.endedWithoutResponse(gateway);
  expect(lines).toEqual([]);
  notices.endedWithoutResponse(gateway);
  expect(lines.map(({ fields }) => fields.setting)).toEqual(['response_header_mode']);
});
