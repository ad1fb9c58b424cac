import type { Logger } from '@leadsman/service';
import { ViewReader } from '@leadsman/view/reader';
import { podKeyFromUid, podKeyText, reason } from '@leadsman/wire';
import { expect, it } from 'vitest';
import { SampleFleet } from '../pool/sample-fleet.ts';
import { namedMax, SilentPorts } from './silent-ports.ts';

const fleetOf = (ports: number) => {
  const fleet = new SampleFleet(128);
  const said: string[] = [];
  const note = (fields: object, text: string) =>
    void said.push(`${JSON.stringify(fields)} ${text}`);
  const logger = { warn: note, info: note } as unknown as Logger;
  const endpoints = Array.from({ length: ports }, (_, i) => ({
    index: i,
    podKey: podKeyText(podKeyFromUid('a')),
    address: '10.0.0.1',
    port: 8000 + i,
    rank: i,
    destination: `10.0.0.1:${8000 + i}`,
    podName: 'a',
    namespace: 'serving',
    labels: {},
  }));
  const pool = { pool: 'serving/chat', version: 1, authorities: [], endpoints, reasons: [] };
  return { fleet, said, pool, silent: new SilentPorts(new ViewReader(fleet.view), logger) };
};

it('are those of which a scrape was refused and none ever succeeded', () => {
  const { fleet, pool, silent } = fleetOf(4);
  fleet.report({ uid: 'a', port: 8000, runningRequests: 1 });
  fleet.report({ uid: 'a', port: 8001, reason: reason.connect });
  fleet.report({ uid: 'a', port: 8002, reason: reason.connect, runningRequests: 3 });
  expect(silent.of(pool)).toEqual({ count: 1, destinations: ['10.0.0.1:8001'] });
});

it('are said once per change, and when the last has answered', () => {
  const { fleet, said, pool, silent } = fleetOf(2);
  silent.look([pool]);
  fleet.report({ uid: 'a', port: 8001, reason: reason.connect });
  silent.look([pool]);
  silent.look([pool]);
  expect(said).toHaveLength(1);
  expect(said[0]).toContain('10.0.0.1:8001');
  fleet.report({ uid: 'a', port: 8001, runningRequests: 0 });
  silent.look([pool]);
  expect(said).toHaveLength(2);
});

it('are named up to a bound, and all counted', () => {
  const { fleet, pool, silent } = fleetOf(namedMax + 5);
  for (const { port } of pool.endpoints) fleet.report({ uid: 'a', port, reason: reason.connect });
  const list = silent.of(pool);
  expect([list.count, list.destinations.length]).toEqual([namedMax + 5, namedMax]);
});
