import type { LookupFunction } from 'node:net';
import { FakeApiServer, podObject } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kubeconfigAccess } from './access.ts';
import { KubeClient } from './client.ts';
import { resourcePath } from './object.ts';

let api: FakeApiServer;
let client: KubeClient;
const pods = { group: '', version: 'v1', plural: 'pods' };

beforeEach(async () => {
  api = new FakeApiServer();
  await api.start();
  client = new KubeClient(await kubeconfigAccess({ text: api.kubeconfig }));
});

afterEach(async () => {
  client.access.close();
  await api.stop();
});

describe('a failure', () => {
  it.each([
    [401, 'unauthorized'],
    [403, 'rbac'],
    [404, 'not_found'],
    [409, 'conflict'],
    [410, 'gone'],
    [422, 'invalid'],
    [429, 'unavailable'],
    [500, 'unavailable'],
  ])('with status %i has the code %s and the message of the server', async (status, code) => {
    api.faults.push(() => ({ status, message: 'because', retryAfterS: 3 }));
    await expect(client.json('GET', '/api/v1/pods')).rejects.toMatchObject({
      code,
      status,
      retryAfterMs: 3_000,
      message: `/api/v1/pods: ${status} because`,
    });
  });

  it('of the connection, of an answer that never comes, and of one that is no JSON', async () => {
    api.faults.push(
      (request) =>
        ({ '/reset': { reset: true }, '/silent': { silent: true }, '/html': { body: '<html>' } })[
          request.path
        ] as never,
    );
    const get = (path: string) => client.json('GET', path, { idleMs: 50 });
    await expect(get('/reset')).rejects.toMatchObject({ code: 'connect' });
    await expect(get('/silent')).rejects.toMatchObject({ code: 'timeout' });
    await expect(get('/html')).rejects.toMatchObject({ code: 'protocol' });
    await api.stop();
    await expect(get('/gone')).rejects.toMatchObject({ code: 'connect' });
  });
});

/** A client of a name that `lookup` resolves, at the port of the fake server. */
function clientOfName(lookup: LookupFunction): KubeClient {
  const { server, namespace, close } = client.access;
  return new KubeClient({
    server: new URL(`http://several.invalid:${server.port}`),
    namespace,
    close,
    authenticate: async () => ({ lookup }),
  });
}

it('names each address of a server that is reached at none', async () => {
  const { port } = client.access.server;
  await api.stop();
  const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
  const away = clientOfName((_host, _options, done) => done(null, addresses));
  await expect(away.json('GET', '/api')).rejects.toMatchObject({
    code: 'connect',
    message: `/api: connect ECONNREFUSED 127.0.0.1:${port}; connect ECONNREFUSED 127.0.0.2:${port}`,
  });
});

it('gives up a connection that does not come about', async () => {
  const away = clientOfName(() => undefined);
  await expect(away.json('GET', '/api', { idleMs: 50 })).rejects.toMatchObject({ code: 'timeout' });
});

it('writes objects, and a patch fails when somebody else was first', async () => {
  const path = resourcePath(pods, 'default');
  const made = (await client.json('POST', path, { body: podObject({ name: 'a' }) })) as {
    metadata: { resourceVersion: string };
  };
  const patch = (resourceVersion: string) =>
    client.json('PATCH', resourcePath(pods, 'default', 'a'), {
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion, labels: { seen: 'yes' } } },
    });
  await patch(made.metadata.resourceVersion);
  await expect(patch(made.metadata.resourceVersion)).rejects.toMatchObject({ code: 'conflict' });
  expect(api.get('Pod', 'default', 'a')?.metadata.labels).toEqual({ seen: 'yes' });
});

it('makes paths that no name can break out of', () => {
  expect(resourcePath(pods, 'a/b', '../c')).toBe('/api/v1/namespaces/a%2Fb/pods/..%2Fc');
  expect(resourcePath({ group: 'x.io', version: 'v1', plural: 'things' })).toBe(
    '/apis/x.io/v1/things',
  );
});
