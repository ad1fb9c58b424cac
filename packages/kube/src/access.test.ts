import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inClusterAccess, kubeconfigAccess, openAccess } from './access.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-access-'));
});

afterEach(() => rm(folder, { recursive: true }));

async function mount(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}

const env = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
const bearer = async (access: Awaited<ReturnType<typeof inClusterAccess>>) =>
  ((await access.authenticate()).headers as Record<string, string>).authorization;

describe('a service account', () => {
  it('is read from its mount, the token anew for each request', async () => {
    await mount({ 'ca.crt': '', token: 'first\n', namespace: 'models\n' });
    const access = await inClusterAccess({ env, folder });
    expect(access).toMatchObject({ namespace: 'models' });
    expect(access.server.href).toBe('https://10.96.0.1/');
    expect(await bearer(access)).toBe('Bearer first');
    await mount({ token: 'second' });
    expect(await bearer(access)).toBe('Bearer second');
    access.close();
  });

  it('of an IPv6 cluster has its address in brackets', async () => {
    await mount({ 'ca.crt': '', token: 't', namespace: '' });
    const access = await inClusterAccess({
      env: { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' },
      folder,
    });
    expect(access.server.href).toBe('https://[fd00::1]:6443/');
    expect(access.namespace).toBe('default');
    access.close();
  });

  it('that is not mounted is an error that names the file, and why', async () => {
    await expect(inClusterAccess({ env, folder })).rejects.toThrow(/ENOENT.*ca\.crt/);
    await expect(inClusterAccess({ env: {}, folder })).rejects.toMatchObject({ code: 'connect' });
  });
});

describe('a kubeconfig', () => {
  const text = (server: string) =>
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'u', user: { token: 'secret' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
      'current-context': 'x',
    });

  it('gives server, namespace and token, by text and by file', async () => {
    for (const access of [
      await kubeconfigAccess({ text: text('http://127.0.0.1:8001/prefix') }),
      await openAccess({
        kubeconfigFile: await fileWith(text('http://127.0.0.1:8001/prefix')),
        env,
      }),
    ]) {
      expect(access).toMatchObject({ namespace: 'team' });
      expect(access.server.pathname).toBe('/prefix');
      const { headers } = await access.authenticate();
      expect(headers).toMatchObject({ Authorization: 'Bearer secret' });
      access.close();
    }
  });

  it('that cannot be used is an error, not a default', async () => {
    await expect(kubeconfigAccess({ text: '{' })).rejects.toMatchObject({ code: 'connect' });
    await expect(kubeconfigAccess({ text: '{}' })).rejects.toMatchObject({ code: 'connect' });
    await expect(openAccess({ kubeconfigFile: join(folder, 'none'), env })).rejects.toMatchObject({
      code: 'connect',
    });
  });

  it('that cannot be used is told why, without what is in it', async () => {
    await expect(openAccess({ kubeconfigFile: join(folder, 'none'), env })).rejects.toThrow(
      /kubeconfig cannot be used: ENOENT.*none/,
    );
    const broken = `users: [{ user: { token: hush }\n  - name: x\n`;
    const error: unknown = await kubeconfigAccess({ text: broken }).catch((reason) => reason);
    expect((error as Error).message).toMatch(/kubeconfig cannot be used: ./);
    expect(inspect(error)).not.toMatch(/hush/);
  });

  async function fileWith(content: string): Promise<string> {
    const file = join(folder, 'config');
    await writeFile(file, content);
    return file;
  }
});
