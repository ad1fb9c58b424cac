/** The NATS that the chart installs, as a real nats-server takes it: who may do what, and the cluster. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectNats, type NatsLink } from '@leadsman/link';
import { launchNats, type NatsServer } from '@leadsman/testing';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { Cluster, helmWith, type Manifest, renderChart, until } from './cluster.ts';

const release = { name: 'leadsman', namespace: 'nats' };
const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const passwordOf = (manifests: readonly Manifest[], role: string): string =>
  Buffer.from(
    manifests.find((one) => one.kind === 'Secret' && one.metadata.name === `leadsman-nats-${role}`)
      ?.data.password,
    'base64',
  ).toString();

/** The environment of the server's container, with what Secrets and the downward API hold. */
function environmentOf(manifests: readonly Manifest[], host: string): Record<string, string> {
  const owner = manifests.find(({ kind }) => kind === 'StatefulSet');
  const list: { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string } } }[] =
    owner?.spec.template.spec.containers[0].env;
  const env: Record<string, string> = {};
  for (const { name, value, valueFrom } of list) {
    const secret = valueFrom?.secretKeyRef?.name;
    const role = secret?.replace('leadsman-nats-', '') ?? '';
    env[name] =
      value ?? (secret === undefined ? `server-${cleanUps.length}` : passwordOf(manifests, role));
  }
  for (const [name, value] of Object.entries(env)) {
    // As the kubelet puts one variable into another; the name is of a machine that is not here.
    const password = env.ROUTE_PASSWORD ?? '';
    env[name] = value.replace('$(ROUTE_PASSWORD)', password).replace(/@[^@]*:6222$/, `@${host}`);
  }
  return env;
}

/** One server of the chart; `host` is the cluster address of one that runs. */
async function launch(manifests: readonly Manifest[], host = '127.0.0.1:1'): Promise<NatsServer> {
  const text: string = manifests.find((one) => one.data?.['nats.conf'])?.data['nats.conf'];
  const server = await launchNats({
    // Its place in the file is what differs: a flag would take the routes' password away.
    config: text.replace(/^pid_file.*$/m, '').replace('"0.0.0.0:6222"', '"127.0.0.1:-1"'),
    env: environmentOf(manifests, host),
  });
  cleanUps.push(() => server.stop());
  return server;
}

async function linkOf(server: NatsServer, user: string, password: string): Promise<NatsLink> {
  const folder = await mkdtemp(join(tmpdir(), 'leadsman-nats-password-'));
  cleanUps.push(() => rm(folder, { recursive: true, force: true }));
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, password);
  const link = connectNats({
    servers: [server.url],
    name: user,
    credentials: { user, passwordFile },
  });
  cleanUps.push(() => link.close());
  return link;
}

/** What each role may do, on the subjects of `prefix`. */
async function expectRoles(
  server: NatsServer,
  prefix: string,
  passwords: Record<'sender' | 'collector' | 'picker', string>,
): Promise<void> {
  const links = {
    sender: await linkOf(server, 'sender', passwords.sender),
    collector: await linkOf(server, 'collector', passwords.collector),
    picker: await linkOf(server, 'picker', passwords.picker),
  };
  await until(() => Object.values(links).every(({ connected }) => connected));
  const frames = `${prefix}.v1.frames.node.a`;
  const heard: string[] = [];
  links.collector.subscribe(`${prefix}.v1.frames.>`, () => heard.push('collector'));
  links.picker.subscribe(`${prefix}.v1.frames.>`, () => heard.push('picker'));
  links.sender.subscribe(`${prefix}.v1.frames.>`, () => heard.push('sender'));
  await until(() => links.sender.counters.permissionErrors === 1);
  await until(() => {
    links.sender.publish(frames, Uint8Array.of(1));
    return heard.includes('collector') && heard.includes('picker');
  });
  expect(heard).not.toContain('sender');
  links.collector.publish(frames, Uint8Array.of(1));
  links.picker.publish(frames, Uint8Array.of(1));
  links.sender.publish(`${prefix}.v1.picker.x`, Uint8Array.of(1));
  links.picker.publish(`${prefix}.v1.picker.x`, Uint8Array.of(1));
  await until(
    () =>
      links.collector.counters.permissionErrors === 1 &&
      links.picker.counters.permissionErrors === 1 &&
      links.sender.counters.permissionErrors === 2,
  );
  const stranger = connectNats({ servers: [server.url], name: 'stranger' });
  cleanUps.push(() => stranger.close());
  const wrong = await linkOf(server, 'sender', passwords.picker);
  await until(() => stranger.counters.authErrors > 0 && wrong.counters.authErrors > 0);
  expect([stranger.connected, wrong.connected]).toEqual([false, false]);
}

describe('the NATS of the chart', () => {
  it('lets each role do its part and no more, and nobody else in', async () => {
    const nats = { enabled: true, subjectPrefix: 'team.a' };
    const manifests = await renderChart(release, { nats });
    const [sender, collector, picker] = ['sender', 'collector', 'picker'].map((role) =>
      passwordOf(manifests, role),
    ) as [string, string, string];
    expect(new Set([sender, collector, picker]).size).toBe(3);
    await expectRoles(await launch(manifests), 'team.a', { sender, collector, picker });
  });

  it('lets in who comes where accounts are off', async () => {
    const nats = { enabled: true, server: { accounts: false } };
    const manifests = await renderChart(release, { nats });
    expect(manifests.filter(({ metadata }) => metadata.name.startsWith('leadsman-nats-s'))).toEqual(
      [],
    );
    const server = await launch(manifests);
    const link = connectNats({ servers: [server.url], name: 'anybody' });
    cleanUps.push(() => link.close());
    await until(() => link.connected);
  });

  it('is a cluster of three that only its own servers can join', async () => {
    const values = { nats: { enabled: true, server: { replicas: 3 } } };
    const manifests = await renderChart(release, values);
    const first = await launch(manifests);
    const { cluster } = (await first.monitor('/varz')) as { cluster: { cluster_port: number } };
    const host = `127.0.0.1:${cluster.cluster_port}`;
    const servers = [first, await launch(manifests, host), await launch(manifests, host)];
    const peersOf = async (server: NatsServer) => {
      const { routes } = (await server.monitor('/routez')) as { routes: { remote_name: string }[] };
      return new Set(routes.map(({ remote_name }) => remote_name)).size;
    };
    await until(async () =>
      (await Promise.all(servers.map(peersOf))).every((count) => count === 2),
    );
    // Another rendering has another password.
    const stranger = await launch(await renderChart(release, values), host);
    await until(() => /authorization|authentication/i.test(first.process.output()));
    expect(await peersOf(stranger)).toBe(0);
  });

  it('keeps its passwords with an upgrade', async () => {
    const cluster = await Cluster.open(inject('kubeconfig'));
    cleanUps.push(() => cluster.close());
    await cluster.namespace('nats-kept');
    const helm = (...args: string[]) =>
      helmWith(inject('kubeconfig'), [...args, '-n', 'nats-kept'], {
        nats: { enabled: true },
        injector: { enabled: false },
        agent: { enabled: false },
      });
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'leadsman-nats-sender', namespace: 'nats-kept' },
    };
    await helm('install', 'leadsman', 'chart', '-f', 'values');
    cleanUps.push(() => helm('uninstall', 'leadsman'));
    const { data } = await cluster.get(secret);
    expect(Buffer.from(data.password, 'base64').toString()).toMatch(/^p\w{31}$/);
    await helm('upgrade', 'leadsman', 'chart', '-f', 'values');
    expect((await cluster.get(secret)).data).toEqual(data);
  });
});

it('the configuration in deploy/nats gives the same roles, by passwords of the environment', async () => {
  const read = (file: string) =>
    readFile(fileURLToPath(new URL(`../../../deploy/nats/${file}`, import.meta.url)), 'utf8');
  const limits = await read('limits.conf');
  const passwords = { sender: 'a1', collector: 'b2', picker: 'c3' };
  const server = await launchNats({
    config: (await read('nats.conf')).replace('include limits.conf', limits),
    env: { SENDER_PASSWORD: 'a1', COLLECTOR_PASSWORD: 'b2', PICKER_PASSWORD: 'c3' },
  });
  cleanUps.push(() => server.stop());
  await expectRoles(server, 'leadsman', passwords);
});
