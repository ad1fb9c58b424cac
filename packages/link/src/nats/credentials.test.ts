import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchNats, type NatsServer, requireNats, waitUntil } from '@leadsman/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CredentialsError, loadAuthenticator, type NatsCredentials } from './credentials.ts';
import { JwtIssuer } from './fixture/jwt.ts';
import { connectNats, type NatsLink } from './link.ts';
import type { NatsBounds } from './options.ts';

let folder: string;
const cleanUps: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadsman-link-'));
});

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  await rm(folder, { recursive: true });
});

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function launch(config: string): Promise<NatsServer> {
  const server = await launchNats({ config });
  cleanUps.push(() => server.stop());
  return server;
}

function connect(
  server: NatsServer,
  credentials: NatsCredentials,
  bounds: Partial<NatsBounds> = {},
): NatsLink {
  const link = connectNats({
    servers: [server.url],
    name: 'agent',
    credentials,
    bounds: { retryFirstMs: 5, retryRefusedMaxMs: 40, ...bounds },
  });
  cleanUps.push(() => link.close());
  return link;
}

const until = (what: string, probe: () => boolean | Promise<boolean>) => waitUntil(probe, { what });
const open = async (server: NatsServer) => Number((await server.monitor('/connz')).num_connections);

/** TCP connections that this process has open. */
const openSockets = () =>
  process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

describe.skipIf(!requireNats())('credentials of a NATS link', () => {
  it('are read again when the server ends an expired user', async () => {
    const issuer = new JwtIssuer();
    const server = await launch(issuer.serverConfig());
    const credsFile = await file('user.creds', issuer.credentials(2));
    const link = connect(server, { credsFile });
    await until('a connection', () => link.connected);
    await writeFile(credsFile, issuer.credentials(600));
    await until('a second connection', () => link.counters.reconnects === 1 && link.connected);
    expect(await open(server)).toBe(1);
  });

  it('may be expired for long: it recovers by itself, with one connection', async () => {
    const issuer = new JwtIssuer();
    const server = await launch(issuer.serverConfig());
    const credsFile = await file('user.creds', issuer.credentials(-60));
    const link = connect(server, { credsFile });
    let most = 0;
    await until('refusals', async () => {
      most = Math.max(most, await open(server));
      return link.counters.authErrors >= 5;
    });
    expect(link.connected).toBe(false);
    expect(link.counters.connectErrors).toBe(0);
    await writeFile(credsFile, issuer.credentials(600));
    await until('a connection', () => link.connected);
    expect(Math.max(most, await open(server))).toBe(1);
  });

  const stops: [string, { pingEveryMs: number; deadMs: number; connectTimeoutMs: number }][] = [
    ['is given up and dialled in vain', { pingEveryMs: 50, deadMs: 200, connectTimeoutMs: 100 }],
    ['is waited for', { pingEveryMs: 50, deadMs: 60_000, connectTimeoutMs: 5_000 }],
  ];
  it.each(stops)('expire while the server is stopped, which %s', async (_, bounds) => {
    const issuer = new JwtIssuer();
    const server = await launch(issuer.serverConfig());
    const credsFile = await file('user.creds', issuer.credentials(2));
    const expiresAtMs = Date.now() + 2_000;
    const sockets = openSockets();
    const link = connect(server, { credsFile }, bounds);
    const seen: string[] = [];
    link.subscribe('reports', (bytes) => seen.push(Buffer.from(bytes).toString()));
    await until('a connection', () => link.connected);
    // No monitor before the end: asking it opens sockets of this process, too.
    server.kill('SIGSTOP');
    try {
      await writeFile(credsFile, issuer.credentials(600));
      await until('the expiry', () => Date.now() > expiresAtMs + 1_000);
      const isGivenUp = bounds.deadMs < 1_000;
      if (isGivenUp) await until('vain attempts', () => link.counters.connectErrors >= 5);
      expect(link.connected).toBe(!isGivenUp);
      expect(link.publish('reports', Buffer.from('old'))).toBe(false);
      expect(openSockets() - sockets).toBeLessThanOrEqual(1);
    } finally {
      server.kill('SIGCONT');
    }
    await until('a second connection', () => link.counters.reconnects === 1 && link.connected);
    link.publish('reports', Buffer.from('new'));
    await until('the message', () => seen.length > 0);
    expect(seen).toEqual(['new']);
    expect(link.counters.connects).toBe(2);
    expect(openSockets() - sockets).toBeLessThanOrEqual(1);
    await until('the server to see the others closed', async () => (await open(server)) === 1);
  });

  it('may be missing or half written at start', async () => {
    const issuer = new JwtIssuer();
    const server = await launch(issuer.serverConfig());
    const credsFile = join(folder, 'later.creds');
    const link = connect(server, { credsFile });
    await until('a failed reading', () => link.counters.authErrors >= 1);
    await writeFile(credsFile, issuer.credentials(600).slice(0, 100));
    const before = link.counters.authErrors;
    await until('another', () => link.counters.authErrors > before + 1);
    await writeFile(credsFile, issuer.credentials(600));
    await until('a connection', () => link.connected);
  });

  it('may be a user and a password that changes', async () => {
    const server = await launch('authorization { user: a, password: right }');
    const passwordFile = await file('password', 'wrong\n');
    const link = connect(server, { user: 'a', passwordFile });
    await until('refusals', () => link.counters.authErrors >= 3);
    await writeFile(passwordFile, 'right\n');
    await until('a connection', () => link.connected);
  });

  it('may be a token', async () => {
    const server = await launch('authorization { token: t0ken }');
    const link = connect(server, { tokenFile: await file('token', 't0ken\n') });
    await until('a connection', () => link.connected);
  });

  it('name a subject that is refused, and stay connected', async () => {
    const server = await launch(
      'authorization { users: [{ user: a, password: b, permissions: { publish: "ok" } }] }',
    );
    const link = connect(server, { user: 'a', passwordFile: await file('password', 'b') });
    await until('a connection', () => link.connected);
    link.publish('forbidden', Uint8Array.of(1));
    await until('the refusal', () => link.counters.permissionErrors === 1);
    expect(link.connected).toBe(true);
  });
});

describe('reading credentials', () => {
  it('tells which file is not usable, and nothing of its content', async () => {
    const nkeyFile = await file('seed', 'SECRET');
    for (const credentials of [{ nkeyFile }, { credsFile: nkeyFile }]) {
      const error = await loadAuthenticator(credentials).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(CredentialsError);
      expect(String(error)).toContain(nkeyFile);
      expect(String(error)).not.toContain('SECRET');
    }
    const tokenFile = await file('token', '\n');
    await expect(loadAuthenticator({ tokenFile })).rejects.toBeInstanceOf(CredentialsError);
    const gone = join(folder, 'gone');
    await expect(loadAuthenticator({ tokenFile: gone })).rejects.toThrow(/gone: ENOENT/);
  });

  it('means none when nothing is configured', async () => {
    expect(await loadAuthenticator({ credsFile: '', user: '' })).toBeUndefined();
  });
});
