import { FakeApiServer, podObject, waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kubeconfigAccess } from './access.ts';
import { KubeClient } from './client.ts';
import type { KubeObject } from './object.ts';
import { Reflector, type ReflectorSettings } from './reflector.ts';

const pods = { group: '', version: 'v1', plural: 'pods' };
let api: FakeApiServer;
let rejections: unknown[];
const stops: (() => Promise<void>)[] = [];
const onRejection = (reason: unknown) => rejections.push(reason);

beforeEach(async () => {
  rejections = [];
  process.on('unhandledRejection', onRejection);
  api = new FakeApiServer();
  await api.start();
});

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await api.stop();
  process.off('unhandledRejection', onRejection);
  expect(rejections).toEqual([]);
});

/** The condition's own text says what was waited for. */
const until = (condition: () => boolean) =>
  waitUntil(condition, { what: String(condition), intervalMs: 5, deadlineMs: 8_000 });

interface Watched {
  reflector: Reflector<string>;
  events: string[];
  names(): string[];
}

async function watchPods(
  settings: Partial<ReflectorSettings> = {},
  scope: { namespace?: string; labelSelector?: string } = {},
): Promise<Watched> {
  const client = new KubeClient(await kubeconfigAccess({ text: api.kubeconfig }));
  const events: string[] = [];
  const reflector = new Reflector<string>({
    client,
    resource: pods,
    ...scope,
    project: (object: KubeObject) => object.metadata.name,
    listener: {
      upserted: (_, name, previous) => events.push(`${previous === undefined ? '+' : '~'}${name}`),
      removed: (_, name) => events.push(`-${name}`),
    },
    random: () => 0.5,
    settings: { backoffFirstMs: 5, backoffMaxMs: 40, ...settings },
  });
  stops.push(async () => {
    await reflector.stop();
    client.access.close();
  });
  reflector.start();
  return { reflector, events, names: () => [...reflector.items.values()].sort() };
}

const putPod = (name: string, more: object = {}) => api.put('Pod', podObject({ name, ...more }));
const watching = (watched: Watched) =>
  until(() => watched.reflector.reason === undefined && api.watches > 0);

describe('list and watch', () => {
  it('lists in pages and then follows every change', async () => {
    for (let i = 0; i < 25; i++) putPod(`p${String(i).padStart(2, '0')}`);
    const watched = await watchPods({ pageSize: 10 });
    await watching(watched);
    expect(watched.names()).toHaveLength(25);
    expect(api.requests('/pods').filter((request) => !request.watch)).toHaveLength(3);

    putPod('p00', { ip: '10.0.0.1' });
    putPod('new');
    api.remove('Pod', 'default', 'p01');
    await until(() => watched.events.includes('-p01'));
    expect(watched.events.slice(25)).toEqual(['~p00', '+new', '-p01']);
  });

  it('uses the same namespaced path for both', async () => {
    putPod('mine', { namespace: 'a' });
    putPod('other', { namespace: 'b' });
    const watched = await watchPods({}, { namespace: 'a' });
    await watching(watched);
    putPod('other-2', { namespace: 'b' });
    putPod('mine-2', { namespace: 'a' });
    await until(() => watched.names().length === 2);
    expect(watched.names()).toEqual(['mine', 'mine-2']);
    expect(new Set(api.seen.map((request) => request.path))).toEqual(
      new Set(['/api/v1/namespaces/a/pods']),
    );
  });

  it('takes an object that stops matching the selector for removed', async () => {
    putPod('x', { labels: { app: 'llm' } });
    const watched = await watchPods({}, { labelSelector: 'app=llm' });
    await watching(watched);
    putPod('x', { labels: { app: 'other' } });
    await until(() => watched.events.includes('-x'));
  });

  it('resumes a broken watch from the last version without a new list', async () => {
    const watched = await watchPods();
    await watching(watched);
    putPod('a');
    await until(() => watched.names().length === 1);
    api.faults.push((request) => (request.watch ? { status: 503 } : undefined));
    api.disturbWatches('drop');
    await until(() => watched.reflector.reason === 'unavailable');
    putPod('b');
    api.remove('Pod', 'default', 'a');
    api.faults.length = 0;
    await until(() => watched.names().join() === 'b');
    expect(watched.reflector.counts.lists).toBe(1);
  });

  it('resumes from the version of a bookmark', async () => {
    const watched = await watchPods({}, { namespace: 'quiet' });
    await watching(watched);
    const before = watched.reflector.counts.events;
    for (let i = 0; i < 5; i++) putPod(`elsewhere-${i}`);
    api.compact();
    api.bookmark();
    await until(() => watched.reflector.counts.events > before);
    api.disturbWatches('drop');
    await until(() => watched.reflector.counts.watches === 2 && api.watches === 1);
    expect(watched.reflector.counts.lists).toBe(1);
  });

  it('finds by a list beside the watch what the watch did not tell', async () => {
    putPod('gone-unseen');
    const watched = await watchPods({ relistMs: 50, watchIdleMs: 60_000 });
    await watching(watched);
    api.disturbWatches('silence');
    api.remove('Pod', 'default', 'gone-unseen');
    putPod('came-unseen');
    await until(() => watched.names().join() === 'came-unseen');
    expect(watched.reflector.counts.watches).toBe(1);
  });
});

describe('faults of the server', () => {
  it('takes a 410 within the stream for a new list and never for data', async () => {
    putPod('a');
    const watched = await watchPods();
    await watching(watched);
    putPod('b');
    await until(() => watched.names().length === 2);
    api.disturbWatches('gone');
    api.remove('Pod', 'default', 'a');
    putPod('c');
    api.compact();
    await until(() => watched.names().join() === 'b,c');
    expect(watched.reflector.counts.lists).toBeGreaterThanOrEqual(2);
    expect(watched.events).toContain('-a');
    expect(watched.reflector.counts.rejected).toBe(0);
  });

  it('takes a 410 as status, for the watch or for a page, for a new list', async () => {
    for (let i = 0; i < 5; i++) putPod(`p${i}`);
    let pages = 0;
    api.faults.push((request) => {
      if (!request.watch && request.query.has('continue') && pages++ === 0) return { status: 410 };
      return request.watch && pages++ === 2 ? { status: 410 } : undefined;
    });
    const watched = await watchPods({ pageSize: 2 });
    await watching(watched);
    expect(watched.names()).toHaveLength(5);
  });

  it.each([
    ['a server that was restored and has not reached it', { status: 504 }],
    ['a server that cannot read it', { status: 400 }],
    ['an event that nobody can read', { body: '{"type":"ODD"}\n' }],
  ])('gives up a version that is spoilt by %s', async (_, fault) => {
    putPod('a');
    let spoilt: string | null = null;
    api.faults.push((request) => {
      const version = request.query.get('resourceVersion');
      if (request.watch) spoilt ??= version;
      return request.watch && version === spoilt ? fault : undefined;
    });
    const watched = await watchPods();
    await until(() => watched.reflector.counts.failures > 0);
    putPod('b');
    await watching(watched);
    expect(watched.names().sort()).toEqual(['a', 'b']);
  });

  it('is not driven into a loop by a server that lists and then refuses each watch', async () => {
    api.faults.push((request) => (request.watch ? { errorEvent: 410 } : undefined));
    const watched = await watchPods({ backoffFirstMs: 10, backoffMaxMs: 10_000 });
    await until(() => watched.reflector.counts.lists >= 5);
    const [first, last] = [api.seen.at(0), api.seen.at(-1)];
    // 5 + 10 + 20 + 40 ms between five lists, less what timers are early: without doubling, 20 to 40.
    expect((last?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(50);
  });

  it('keeps what it has while lists fail after a watch ended, and catches up', async () => {
    putPod('a');
    const watched = await watchPods();
    await watching(watched);
    let refusals = 0;
    api.faults.push((request) =>
      !request.watch && refusals++ < 2 ? { status: 503, retryAfterS: 0 } : undefined,
    );
    api.compact();
    api.disturbWatches('gone');
    putPod('b');
    await until(() => refusals >= 2);
    expect(watched.names()).toContain('a');
    await until(() => watched.names().join() === 'a,b');
  });

  it('asks at most once a second while it lacks the right, and says so', async () => {
    api.faults.push((request) => (request.watch ? { status: 403 } : undefined));
    const watched = await watchPods();
    await until(() => watched.reflector.reason === 'rbac');
    await until(() => watched.reflector.counts.watches >= 3);
    const times = api.seen.filter((request) => request.watch).map((request) => request.atMs);
    for (let i = 1; i < times.length; i++) {
      expect((times[i] ?? 0) - (times[i - 1] ?? 0)).toBeGreaterThan(990);
    }
    expect(watched.reflector.message).toContain('403');
    api.faults.length = 0;
    await until(() => watched.reflector.reason === undefined);
  });

  it('gives up a watch that fell silent and goes on from its version', async () => {
    const watched = await watchPods({ watchIdleMs: 100 });
    await watching(watched);
    api.disturbWatches('silence');
    putPod('unheard');
    await until(() => watched.names().join() === 'unheard');
    expect(watched.reflector.counts.lists).toBe(1);
  });

  it('gives up a list that never comes, and a slow one is no failure', async () => {
    putPod('a');
    let silent = 0;
    api.faults.push((request) => {
      if (request.watch) return undefined;
      return silent++ === 0 ? { silent: true } : { delayMs: 50 };
    });
    const watched = await watchPods({ listIdleMs: 200 });
    await watching(watched);
    expect(watched.names()).toEqual(['a']);
    expect(watched.reflector.counts.failures).toBe(1);
  });

  it('survives answers that are not from an API server', async () => {
    const bodies = ['<html>login</html>', '{"kind":"Status"}', '[]', '{"items":[1,null,{}]'];
    let next = 0;
    api.faults.push(() => {
      const body = bodies[next++];
      return body === undefined ? undefined : { body };
    });
    putPod('a');
    const watched = await watchPods();
    await watching(watched);
    expect(watched.names()).toEqual(['a']);
  });

  it('keeps all it knows while the server is away and notices what changed meanwhile', async () => {
    putPod('stays');
    putPod('leaves');
    const watched = await watchPods();
    await watching(watched);
    await api.stop();
    await until(() => watched.reflector.counts.failures >= 3);
    expect(watched.names()).toEqual(['leaves', 'stays']);
    api.remove('Pod', 'default', 'leaves');
    await api.start();
    await until(() => watched.names().join() === 'stays');
    expect(watched.events.filter((event) => event === '-leaves')).toHaveLength(1);
  });

  it('tells a pod made again under its name as another pod', async () => {
    putPod('twin', { uid: 'uid-1' });
    const watched = await watchPods();
    await watching(watched);
    api.faults.push((request) => (request.watch ? { status: 503 } : undefined));
    api.disturbWatches('drop');
    await until(() => watched.reflector.reason === 'unavailable');
    api.remove('Pod', 'default', 'twin');
    putPod('twin', { uid: 'uid-2' });
    api.compact();
    api.faults.length = 0;
    await until(() => watched.reflector.items.has('uid-2'));
    expect([...watched.reflector.items.keys()]).toEqual(['uid-2']);
  });

  it('keeps no more than its bound and counts the rest', async () => {
    for (let i = 0; i < 12; i++) putPod(`p${i}`);
    const watched = await watchPods({ itemsMax: 10 });
    await watching(watched);
    expect(watched.names()).toHaveLength(10);
    expect(watched.reflector.counts.overflow).toBe(2);
  });
});
