import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PoolMembers } from '@leadsman/scheduling/endpoint';
import { createLogger } from '@leadsman/service';
import { ViewReader } from '@leadsman/view/reader';
import { Network, podKeyFromUid, podKeyText } from '@leadsman/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileSource } from './file-source.ts';
import type { MembershipSource } from './membership.ts';
import { SampleFleet } from './sample-fleet.ts';
import { ViewSource } from './view-source.ts';

const networks = ['10.0.0.0/8', 'fd00::/8'].map((text) => new Network(text));
const faults: string[] = [];
const logger = createLogger({ name: 'test', level: 'silent' });
logger.error = (_: unknown, text?: string) => faults.push(text ?? '');
const keyOf = (uid: string) => podKeyText(podKeyFromUid(uid));

let fleet: SampleFleet;
let pools: Map<string, PoolMembers>;
let source: MembershipSource | undefined;

beforeEach(() => {
  fleet = new SampleFleet();
  pools = new Map();
});
afterEach(() => source?.stop());

function start(started: MembershipSource): void {
  source = started;
  started.start({
    poolChanged: (members) => pools.set(members.pool, members),
    poolRemoved: (pool) => pools.delete(pool),
  });
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('condition did not come true');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const podsOf = (pool: string) => pools.get(pool)?.members.map((member) => member.podKey) ?? [];

describe('membership from the view', () => {
  it('has every endpoint that reports, and says so while there is none', async () => {
    start(new ViewSource(new ViewReader(fleet.view), 'all', networks));
    expect(pools.get('all')?.reasons).toEqual(['no endpoint has reported yet']);
    expect(source?.notSynced()).toMatch(/view/);
    fleet.report({ uid: 'a' }, { uid: 'b', address: 'fd00::2', port: 9000 });
    await until(() => podsOf('all').length === 2);
    expect(pools.get('all')?.members[1]).toMatchObject({ address: 'fd00::2', port: 9000 });
    expect(pools.get('all')?.reasons).toEqual([]);
  });
});

describe('who may become a destination by reporting', () => {
  it('is who lies in the networks of the operator', async () => {
    start(new ViewSource(new ViewReader(fleet.view), 'all', networks));
    fleet.report(
      { uid: 'a' },
      { uid: 'evil', address: '192.0.2.66' },
      { uid: 'v6', address: '2001:db8::1' },
    );
    await until(() => podsOf('all').length === 1);
    expect(podsOf('all')).toEqual([keyOf('a')]);
    expect(pools.get('all')?.reasons).toEqual(['2 outside --pool-networks']);
  });

  it('is nobody without networks', async () => {
    start(new ViewSource(new ViewReader(fleet.view), 'all', []));
    fleet.report({ uid: 'a' });
    await until(() => pools.get('all')?.reasons[0] === '1 outside --pool-networks');
    expect(podsOf('all')).toEqual([]);
  });
});

describe('membership from a file', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'leadsman-pools-'));
    path = join(folder, 'pools.yaml');
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const write = (text: string) => {
    // As a ConfigMap does: the new content appears whole, under the same name.
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  const startFile = () =>
    start(new FileSource({ path, reader: new ViewReader(fleet.view), logger }));

  it('follows the file, and keeps the last good version', async () => {
    startFile();
    expect(source?.notSynced()).toBeDefined();
    write('pools: [{ name: one, endpoints: [{ address: 10.0.0.1, port: 8000 }] }]');
    await until(() => podsOf('one').length === 1);
    expect(source?.notSynced()).toBeUndefined();
    write('pools: [{ name: one, endpoints: [{ address: nonsense, port: 8000 }] }]');
    await until(() => faults.some((text) => text.includes('not an IP address')));
    expect(podsOf('one')).toHaveLength(1);
    write('pools: [{ name: two, authorities: [two.serving] }]');
    await until(() => pools.has('two'));
    expect(pools.has('one')).toBe(false);
    expect(pools.get('two')).toMatchObject({
      authorities: ['two.serving'],
      reasons: ['the pool file names no endpoint'],
    });
  });

  it('finds the pod behind an address, and its successor', async () => {
    write('pools: [{ name: one, endpoints: [{ address: 10.0.0.1, port: 8000 }] }]');
    startFile();
    await until(() => podsOf('one').length === 1);
    fleet.report({ uid: 'first' });
    await until(() => podsOf('one')[0] === keyOf('first'));
    fleet.report({ uid: 'second' });
    await until(() => podsOf('one')[0] === keyOf('second'));
  });

  it('is not taken over by one late report of a former pod', async () => {
    write('pools: [{ name: one, endpoints: [{ address: 10.0.0.1, port: 8000 }] }]');
    startFile();
    fleet.report({ uid: 'former', epoch: 1 }, { uid: 'present', epoch: 2 });
    await until(() => podsOf('one')[0] === keyOf('present'));
    fleet.report({ uid: 'former', epoch: 1, waitingRequests: 50 });
    // A third endpoint, so that the list is looked at anew and told.
    fleet.report({ uid: 'other', address: '10.0.0.2' });
    write(
      'pools: [{ name: one, endpoints: [{ address: 10.0.0.1, port: 8000 }, { address: 10.0.0.2, port: 8000 }] }]',
    );
    await until(() => podsOf('one').length === 2);
    expect(podsOf('one')).toEqual([keyOf('present'), keyOf('other')]);
  });

  it('finds the pod behind an address however that is written', async () => {
    write(
      'pools: [{ name: one, endpoints: [{ address: "FD00:0:0:0:0:0:8:1", port: 8000 }, { address: "::ffff:10.0.0.7", port: 8000 }] }]',
    );
    startFile();
    fleet.report({ uid: 'a', address: 'fd00::8:1' }, { uid: 'b', address: '10.0.0.7' });
    await until(() => podsOf('one').join() === [keyOf('a'), keyOf('b')].join());
    expect(pools.get('one')?.members.map(({ address }) => address)).toEqual([
      'fd00::8:1',
      '10.0.0.7',
    ]);
  });

  it('leaves an endpoint that names its pod as it is', async () => {
    write('pools: [{ name: one, endpoints: [{ address: 10.0.0.1, port: 8000, podUid: mine }] }]');
    startFile();
    fleet.report({ uid: 'other' });
    await until(() => podsOf('one').length === 1);
    expect(podsOf('one')).toEqual([keyOf('mine')]);
  });
});
