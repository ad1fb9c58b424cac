import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, readConfig } from '@leadsman/service';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pickerConfigShape } from './config/picker-config.ts';
import { type RunningPicker, startPicker } from './start-picker.ts';
import { openExtProc } from './workers/fixture/ext-proc-client.ts';

const local = ['--admin-host', '127.0.0.1', '--ext-proc-host', '127.0.0.1'];
const anyPort = ['--admin-port', '0', '--ext-proc-port', '0', '--health-port', '0'];

describe('startPicker', () => {
  let folder: string;
  let poolFile: string;
  let picker: RunningPicker | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'leadsman-picker-'));
    poolFile = join(folder, 'pools.yaml');
    writeFileSync(
      poolFile,
      'pools: [{ name: chat, endpoints: [{ address: 127.0.0.1, port: 8000 }] }]',
    );
  });
  afterEach(async () => {
    await picker?.stop();
    picker = undefined;
    rmSync(folder, { recursive: true });
  });

  async function start(...flags: string[]): Promise<RunningPicker> {
    const argv = [...local, ...anyPort, '--pool-source', 'file', '--pool-file', poolFile];
    argv.push('--workers', '1', '--drain-notice-ms', '0', '--drain-grace-ms', '1000', ...flags);
    const config = readConfig(pickerConfigShape, { argv, env: {}, name: 'test' });
    picker = await startPicker(config, {
      logger: createLogger({ name: 'test', level: 'silent' }),
      registry: new Registry(),
      random: Math.random,
      unixMs: Date.now,
      env: {},
    });
    return picker;
  }

  const ask = (path: string, init?: RequestInit) =>
    fetch(`http://${picker?.addresses.admin}${path}`, init);

  async function until(condition: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 30_000;
    while (!(await condition())) {
      if (performance.now() > deadline) throw new Error('condition did not come true');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  it('tells decisions and reloads only to who knows the token, where there is one', async () => {
    const tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, 'secret\n');
    await start('--ready-after-ms', '0', '--admin-token-file', tokenFile);
    const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    for (const path of ['/v1/pools', '/v1/endpoints']) {
      expect((await ask(path)).status).toBe(401);
      expect((await ask(path, as('wrong'))).status).toBe(403);
      expect((await ask(path, as('secret'))).status).toBe(200);
    }
    expect((await ask('/v1/reload', { method: 'POST' })).status).toBe(401);
    expect((await ask('/v1/reload', { method: 'POST', ...as('secret') })).status).toBe(200);
    expect((await ask('/metrics')).status).toBe(200);
    expect((await ask('/healthz')).status).toBe(200);
    // It is read for each question: a new token counts at once, and without any nobody gets in.
    writeFileSync(tokenFile, 'new');
    expect((await ask('/v1/pools', as('secret'))).status).toBe(403);
    expect((await ask('/v1/pools', as('new'))).status).toBe(200);
    rmSync(tokenFile);
    expect((await ask('/v1/pools', as('new'))).status).toBe(403);
  });

  it('serves its pools, and goes into service without a feed after the time it was given', async () => {
    await start('--ready-after-ms', '0');
    await until(async () => (await ask('/readyz')).status === 200);
    const { pools } = (await (await ask('/v1/pools')).json()) as { pools: object[] };
    expect(pools).toMatchObject([{ pool: 'chat', endpoints: 1, reasons: [] }]);
    const { endpoints } = (await (await ask('/v1/endpoints')).json()) as { endpoints: object[] };
    expect(endpoints).toMatchObject([{ destination: '127.0.0.1:8000', state: 'unknown' }]);
    const metrics = await (await ask('/metrics')).text();
    expect(metrics).toMatch(/^leadsman_picker_pool_members\{pool="chat"\} 1$/m);
    expect(metrics).toMatch(/^leadsman_picker_workers 1$/m);
    for (const name of ['leadsman_collector_', 'leadsman_picker_reloads_total']) {
      expect(metrics).toContain(name);
    }
  });

  it('is alive, but not ready, while it waits for the first reports', async () => {
    await start('--ready-after-ms', '600000');
    expect((await ask('/healthz')).status).toBe(200);
    await until(async () => (await (await ask('/readyz')).text()).includes('fleet view'));
  });

  it('starts the collector again when it dies or stands still', async () => {
    const running = await start('--ready-after-ms', '0');
    await until(async () => running.collector.snapshot !== undefined);
    for (const [restarts, signal] of (['SIGKILL', 'SIGSTOP'] as const).entries()) {
      process.kill(running.collector.pid!, signal);
      await until(async () => running.collector.restarts === restarts + 1);
    }
    await until(async () => running.collector.pid !== undefined);
    expect(running.collector.hangs).toBe(1);
    expect((await ask('/healthz')).status).toBe(200);
  });

  /** An extension whose pick is `body`, and the flags that make it the pool's. */
  function extension(body: string): string[] {
    const configFile = join(folder, 'strategy.yaml');
    const part = `{ kind: 'pick', name: 'faulty', create: () => ({ choose(candidates) { ${body} } }) }`;
    writeFileSync(join(folder, 'faulty.mjs'), `export default ${part};`);
    writeFileSync(
      poolFile,
      'pools: [{ name: chat, endpoints: [{ address: 127.0.0.1, port: 1 }, { address: 127.0.0.1, port: 2 }] }]',
    );
    writeFileSync(
      configFile,
      'extensions: [{ module: faulty.mjs }]\ndefault: { scorers: [{ type: queue }], pick: faulty }',
    );
    return ['--config-file', configFile];
  }

  const signals = ['SIGKILL', 'SIGSTOP', 'SIGSEGV'] as const;
  it.each(signals)(
    'serves on while a worker gets %s, and takes back what it counted',
    async (signal) => {
      const running = await start('--workers', '2', '--no-tls', '--ready-after-ms', '0');
      await until(async () => (await ask('/readyz')).status === 200);
      const inFlight = async () =>
        Number(/pool_in_flight\{.*\} (\d+)/.exec(await (await ask('/metrics')).text())?.[1]);
      const client = openExtProc(running.addresses.ext_proc!);
      // Over many connections, so that both workers have some.
      for (let i = 0; i < 40; i++) client.pick();
      await until(async () => (await inFlight()) === 40);
      process.kill(running.workers.pid(0)!, signal);
      expect((await ask('/readyz')).status).toBe(200);
      await until(async () => {
        const left = await inFlight();
        return left < 40 && left > 0 && left === client.open();
      });
      expect((await ask('/readyz')).status).toBe(200);
      await until(async () => running.workers.restarts === 1 && running.workers.running === 2);
      expect(running.workers.hangs).toBe(signal === 'SIGSTOP' ? 1 : 0);
      client.close();
      await until(async () => (await inFlight()) === 0);
    },
  );

  const faults = {
    'throws where nobody catches':
      "setImmediate(() => { throw new Error('on purpose'); }); return 0;",
    'ends the process': 'process.exit(0);',
    'never comes back': 'for (;;);',
    'takes all memory':
      'globalThis.hoard = []; for (;;) globalThis.hoard.push(new Array(1_000_000).fill({}));',
  };
  it.each(Object.entries(faults))('outlives an extension that %s', async (_, body) => {
    const flags = extension(body);
    const running = await start('--workers', '2', '--no-tls', '--ready-after-ms', '0', ...flags);
    await until(async () => (await ask('/readyz')).status === 200);
    const client = openExtProc(running.addresses.ext_proc!);
    client.pick();
    await until(async () => running.workers.restarts >= 1 && running.workers.running === 2);
    expect((await ask('/readyz')).status).toBe(200);
    client.close();
    await until(async () => running.workers.serving);
    expect(running.collector.restarts).toBe(0);
  });

  it('ends without waiting for a worker that died while it drained', async () => {
    const grace = '600000';
    const running = await start('--workers', '2', '--no-tls', '--drain-grace-ms', grace);
    const client = openExtProc(running.addresses.ext_proc!);
    for (let i = 0; i < 40; i++) client.pick();
    await until(async () => client.picked() === 40);
    const stopped = running.stop();
    picker = undefined;
    for (const worker of [0, 1]) process.kill(running.workers.pid(worker)!, 'SIGKILL');
    await stopped;
    expect(running.workers.restarts).toBe(0);
    client.close();
  });

  it('reads its strategy file on request, and keeps the last good one', async () => {
    const configFile = join(folder, 'strategy.yaml');
    writeFileSync(configFile, 'default: { strategy: random }\n');
    await start('--config-file', configFile);
    const reload = () => ask('/v1/reload', { method: 'POST' });
    writeFileSync(configFile, 'default: { strategy: nonsense }\n');
    const refused = await reload();
    expect(refused.status).toBe(422);
    expect(JSON.stringify(await refused.json())).toMatch(/nonsense/);
    writeFileSync(configFile, 'default: { strategy: least-load }\n');
    expect((await reload()).status).toBe(200);
  });

  it('refuses an address that is taken, and a strategy that does not exist', async () => {
    const { addresses } = await start();
    const port = addresses.admin?.split(':')[1] ?? '';
    const first = picker;
    await expect(start('--admin-port', port)).rejects.toThrow(/EADDRINUSE/);
    await expect(start('--strategy', 'nonsense')).rejects.toThrow(/nonsense/);
    picker = first;
  });
});
