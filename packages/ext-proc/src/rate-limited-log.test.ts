import { beforeEach, expect, test } from 'vitest';
import { logIntervalMs, RateLimitedLog, responsesMissingMax } from './rate-limited-log.ts';

const gateway = { peer: '10.0.0.9' };
let nowMs: number;
let lines: { level: string; fields: Record<string, unknown>; message: string }[];
let log: RateLimitedLog;
beforeEach(() => {
  nowMs = 1_000;
  lines = [];
  const note = (level: string) => (fields: object, message: string) => {
    lines.push({ level, fields: fields as Record<string, unknown>, message });
  };
  log = new RateLimitedLog({ warn: note('warn'), error: note('error') }, () => nowMs);
});

test('each kind is said at once, then once a minute with how often it happened', () => {
  for (let i = 0; i < 5; i++) log.misconfigured('request_header_mode', gateway);
  log.misconfigured('response_body_mode', gateway);
  expect(lines.map(({ fields }) => fields)).toEqual([
    { setting: 'request_header_mode', peer: '10.0.0.9', times: 1 },
    { setting: 'response_body_mode', peer: '10.0.0.9', times: 1 },
  ]);
  expect(lines[0]!.message).toContain('request_header_mode: SEND');
  nowMs += logIntervalMs;
  log.misconfigured('request_header_mode', { peer: '10.0.0.8' });
  expect(lines[2]!.fields).toMatchObject({ peer: '10.0.0.8', times: 5 });
});

test('a fault is logged with its cause', () => {
  const cause = new Error('why');
  log.fault('pick', cause);
  log.fault('pick', new Error('again'));
  expect(lines).toEqual([
    {
      level: 'error',
      fields: { err: cause, place: 'pick', times: 1 },
      message: expect.any(String),
    },
  ]);
});

test('picks without a response are worth a line only when there are many in a row', () => {
  for (let i = 1; i < responsesMissingMax; i++) log.endedWithoutResponse(gateway);
  log.responded();
  for (let i = 1; i < responsesMissingMax; i++) log.endedWithoutResponse(gateway);
  expect(lines).toEqual([]);
  log.endedWithoutResponse(gateway);
  expect(lines.map(({ fields }) => fields.setting)).toEqual(['response_header_mode']);
});
