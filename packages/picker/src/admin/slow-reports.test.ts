import type { Logger } from '@leadsman/service';
import { ViewReader } from '@leadsman/view/reader';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import { expect, it } from 'vitest';
import { SampleFleet } from '../pool/sample-fleet.ts';
import { SlowReports } from './slow-reports.ts';

it('are counted, and said once while there are any', () => {
  const fleet = new SampleFleet();
  const said: string[] = [];
  const logger = { warn: (_: object, text: string) => void said.push(text) } as unknown as Logger;
  const endpoints = ['a', 'b'].map((uid, index) => ({
    index,
    podKey: podKeyText(podKeyFromUid(uid)),
    address: '10.0.0.1',
    port: 8000,
    rank: 0,
    destination: '10.0.0.1:8000',
    podName: uid,
    namespace: 'serving',
    labels: {},
  }));
  const pool = { pool: 'serving/chat', version: 1, authorities: [], endpoints, reasons: [] };
  const slow = new SlowReports(new ViewReader(fleet.view), logger, () => 2_000);
  fleet.report({ uid: 'a', runningRequests: 0, scrapeIntervalMs: 2_000 });
  slow.look([pool]);
  expect([slow.of(pool), said.length]).toEqual([0, 0]);
  fleet.report({ uid: 'b', runningRequests: 0, scrapeIntervalMs: 2_001 });
  slow.look([pool]);
  slow.look([pool]);
  expect([slow.of(pool), said.length]).toEqual([1, 1]);
  fleet.report({ uid: 'b', runningRequests: 0, scrapeIntervalMs: 50 });
  slow.look([pool]);
  fleet.report({ uid: 'b', runningRequests: 0, scrapeIntervalMs: 5_000 });
  slow.look([pool]);
  expect(said.length).toBe(2);
});
