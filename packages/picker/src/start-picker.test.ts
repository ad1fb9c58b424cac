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

  it('serves its pools, and goes into service without a feed after the time it was given', async () => {
    await start('--ready-after-ms', '0');
    await until(async () => (await ask('/readyz')).status === 200);
    const { pools } = (await (await ask('/v1/pools')).json()) as { pools: object[] };
    expect(pools).toMatchObject([{ pool: 'chat', endpoints: 1, reasons: [] }]);
    const { endpoints } = (await (await ask('/v1/endpoints')).json()) as { endpoints: object[] };
    expect(endpoints).toMatchObject([{ destination: '127.0.0.1:8000', state: 'unknown' }]);
    const metrics = await (await ask('/metrics')).text();
    expect(metrics).toMatch(/^leadsman_picker_pool_members\{pool="chat"\} 1$/m);
    expect(metrics).toMatch(/^leadsman_picker_threads 1$/m);
    for (const name of ['leadsman_collector_', 'leadsman_picker_reloads_total']) {
      expect(metrics).toContain(name);
    }
  });

  it('is alive, but not ready, while it waits for the first reports', async () => {
    await start('--ready-after-ms', '600000');
    expect((await ask('/healthz')).status).toBe(200);
    await until(async () => (await (await ask('/readyz')).text()).includes('fleet view'));
  });

  it('starts the collector thread again when it dies', async () => {
    const running = await start('--ready-after-ms', '0');
    await running.collector.thread.terminate();
    await until(async () => running.collector.restarts === 1);
    expect((await ask('/healthz')).status).toBe(200);
  });

  it('serves on while a thread that died is started again, and takes back what it counted', async () => {
    const running = await start('--workers', '2', '--no-tls', '--ready-after-ms', '0');
    await until(async () => (await ask('/readyz')).status === 200);
    const inFlight = async () =>
      Number(/pool_in_flight\{.*\} (\d+)/.exec(await (await ask('/metrics')).text())?.[1]);
    const client = openExtProc(running.addresses.ext_proc!);
    // Over many connections, so that both threads have some.
    for (let i = 0; i < 40; i++) client.pick();
    await until(async () => (await inFlight()) === 40);
    await running.threads.thread(0)!.terminate();
    expect((await ask('/readyz')).status).toBe(200);
    await until(async () => {
      const left = await inFlight();
      return left < 40 && left === client.open();
    });
    expect((await ask('/readyz')).status).toBe(200);
    await until(async () => running.threads.restarts === 1 && running.threads.running === 2);
    client.close();
    await until(async () => (await inFlight()) === 0);
  });

  it('starts a thread again that hangs in an extension', async () => {
    const configFile = join(folder, 'strategy.yaml');
    const part = "{ kind: 'pick', name: 'endless', create: () => ({ choose() { for (;;); } }) }";
    writeFileSync(join(folder, 'endless.mjs'), `export default ${part};`);
    writeFileSync(
      poolFile,
      'pools: [{ name: chat, endpoints: [{ address: 127.0.0.1, port: 1 }, { address: 127.0.0.1, port: 2 }] }]',
    );
    writeFileSync(
      configFile,
      'extensions: [{ module: endless.mjs }]\ndefault: { scorers: [{ type: queue }], pick: endless }',
    );
    const running = await start('--no-tls', '--config-file', configFile, '--ready-after-ms', '0');
    const client = openExtProc(running.addresses.ext_proc!);
    client.pick();
    await until(async () => running.threads.hangs === 1);
    client.close();
    await until(async () => running.threads.restarts === 1 && running.threads.serving);
    expect(await (await ask('/metrics')).text()).toMatch(/^leadsman_picker_thread_hangs_total 1$/m);
  }, 60_000);

  it('ends without waiting for a thread that died while it drained', async () => {
    const grace = '600000';
    const running = await start('--workers', '2', '--no-tls', '--drain-grace-ms', grace);
    const client = openExtProc(running.addresses.ext_proc!);
    for (let i = 0; i < 40; i++) client.pick();
    await until(async () => client.picked() === 40);
    const stopped = running.stop();
    picker = undefined;
    for (const worker of [0, 1]) await running.threads.thread(worker)!.terminate();
    await stopped;
    expect(running.threads.restarts).toBe(0);
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
