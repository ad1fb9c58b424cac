/**
 * The picker's collector thread dies under load. It is the one part that no signal reaches alone,
 * so here the picker runs in this process, as its own main would start it.
 */
import { type PickerConfig, pickerConfigShape, startPicker } from '@leadsman/picker';
import { createLogger, readConfig } from '@leadsman/service';
import { Rig, requireEnvoy, requireNats, waitUntil } from '@leadsman/testing';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startLoad } from './load.ts';
import { expectRecovery, waitForCompleteView } from './view.ts';

const ready = [requireEnvoy(), requireNats()].every(Boolean);

describe.skipIf(!ready)("the picker's collector thread", () => {
  let rig: Rig;
  let picker: Awaited<ReturnType<typeof startPicker>>;
  let adminUrl: string;

  beforeAll(async () => {
    rig = await Rig.start({ nodes: 1, podsPerNode: 3, subnet: 24, withoutPicker: true });
    picker = await startPicker(configFor(rig), {
      logger: createLogger({ name: 'picker', level: 'error' }),
      registry: new Registry(),
      random: Math.random,
      unixMs: Date.now,
      env: {},
    });
    adminUrl = `http://${picker.addresses.admin}`;
    await rig.startGateway([picker.addresses.ext_proc!]);
    await waitForCompleteView(rig, adminUrl);
  }, 120_000);

  afterAll(async () => {
    await rig?.envoy?.stop();
    await picker?.stop();
    await rig?.stop();
  });

  it('is replaced, and its death costs no request', async () => {
    const load = startLoad(rig);
    await load.more(20);
    await picker.collector.thread.terminate();
    await load.more(30);
    await waitUntil(() => picker.collector.restarts === 1, { what: 'a new collector thread' });
    await expectRecovery(rig, adminUrl);
    await load.more(30);
    await load.stopWithoutFailure();
    expect(picker.collector.restarts).toBe(1);
  });
});

function configFor(rig: Rig): PickerConfig {
  return readConfig(pickerConfigShape, {
    name: 'picker',
    env: {},
    argv: [
      ...['--ext-proc-host', '127.0.0.1', '--ext-proc-port', '0', '--health-port', '0'],
      ...['--admin-host', '127.0.0.1', '--admin-port', '0', '--workers', '1'],
      ...['--pool-source', 'file', '--pool-file', rig.poolPath],
      ...['--config-file', rig.strategyPath, '--nats-url', rig.nats!.url],
      ...['--drain-grace-ms', '500', '--log-level', 'error'],
    ],
  });
}
