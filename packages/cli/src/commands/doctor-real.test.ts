/** Faults planted in real processes: engines, sidecars, agents, NATS, a picker and Envoy. */
import {
  gatewayBootstrap,
  launchEnvoy,
  launchNats,
  launchService,
  Rig,
  requireEnvoy,
  requireNats,
  waitUntil,
} from '@leadsman/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { doctorCommand } from './doctor.ts';

interface Found {
  name: string;
  where: string;
}

async function doctor(...args: string[]): Promise<Found[]> {
  let out = '';
  const write = (text: string): void => {
    out += text;
  };
  const io = { write, warn: write, setExitCode: () => {} };
  await doctorCommand(io).parseAsync(['--json', '--interval-ms', '200', ...args], { from: 'user' });
  return JSON.parse(out).findings;
}

/** Waits until `doctor` says exactly this. */
async function says(args: readonly string[], ...names: string[]): Promise<Found[]> {
  let last: Found[] = [];
  await waitUntil(
    async () => {
      last = await doctor(...args);
      return last.map(({ name }) => name).join() === names.join();
    },
    {
      what: `the faults "${names.join()}"`,
      describe: () => JSON.stringify(last),
      deadlineMs: 50_000,
    },
  );
  return last;
}

describe.skipIf(!requireEnvoy() || !requireNats())('on a whole system', () => {
  let rig: Rig;
  let all: string[];

  beforeAll(async () => {
    rig = await Rig.start({ nodes: 2, podsPerNode: 2, subnet: 86 });
    all = [
      `http://127.0.0.1:${rig.envoy!.ports.admin}`,
      rig.picker!.adminUrl,
      ...rig.agents.map((agent) => agent.addresses.reports!),
      ...rig.sidecars.map((sidecar) => sidecar.adminUrl),
      ...rig.engines.engines.map(({ url }) => url),
      '--nats',
      `http://127.0.0.1:${rig.nats!.ports.monitoring}`,
    ];
  });
  afterAll(() => rig.stop());

  it('is silent as long as nothing is wrong', async () => {
    await says(all);
  });

  it('finds a sidecar that says nothing any more', async () => {
    const sidecar = rig.sidecars[1]!;
    sidecar.process.kill('SIGSTOP');
    const [found] = await says([rig.picker!.adminUrl], 'sidecar_silent');
    sidecar.process.kill('SIGCONT');
    expect(found!.where).toContain('engine-1');
    await says(all);
  });

  it('finds that NATS is down, and tells it as the one cause', async () => {
    await rig.nats!.stop();
    const [found] = await says([rig.picker!.adminUrl], 'nats_away');
    expect(found!.where).toBe(rig.picker!.adminUrl);
    await rig.restartNats();
    await says([rig.picker!.adminUrl, ...rig.agents.map((agent) => agent.addresses.reports!)]);
  });

  it('finds an engine that hangs, one that wants a token, and one that shows other series', async () => {
    const [dead, closed, strange] = rig.engines.engines;
    dead!.setFaults({ metricsHang: true });
    closed!.setFaults({ metricsToken: 'secret' });
    strange!.setFaults({ metricsBody: '# TYPE things gauge\nthings 1\n' });
    const names = ['engine_dead', 'engine_wants_token', 'engine_without_series'];
    const found = await says([rig.picker!.adminUrl], ...names);
    expect(found.map(({ where }) => where.slice(0, 12))).toEqual([
      'pod engine-0',
      'pod engine-1',
      'pod engine-2',
    ]);
    // The engine itself tells the same.
    await says(
      [closed!.url, strange!.url, '--timeout-ms', '500', '--engine', dead!.url],
      'engine_wants_token',
      'engine_without_series',
      'engine_dead',
    );
  });
});

describe.skipIf(!requireNats())('of NATS', () => {
  it.each([
    ['nats_credentials_refused', 'authorization { users: [{ user: a, password: b }] }'],
    [
      'nats_not_permitted',
      'authorization { users: [{ user: a, password: b, permissions: { subscribe: "other.>" } }] }\nno_auth_user: a',
    ],
  ])('finds %s', async (name, config) => {
    const nats = await launchNats({ config });
    onTestFinished(() => nats.stop());
    const collector = await launchService({
      service: 'collector',
      name: 'collector',
      flags: {
        'admin-host': '127.0.0.1',
        'admin-port': 0,
        'grpc-host': '127.0.0.1',
        'grpc-port': 0,
        'nats-url': nats.url,
      },
      listeners: ['admin'],
    });
    onTestFinished(() => collector.stop());
    await says([collector.adminUrl], name);
  });
});

describe('of a node', () => {
  it('finds that the agent is absent which a sidecar must use', async () => {
    const sidecar = await launchService({
      service: 'sidecar',
      name: 'sidecar',
      flags: {
        'exporter-mode': 'node',
        'engine-host': '127.0.0.1',
        'engine-ports': 9,
        'pod-ip': '127.0.0.1',
        'host-ip': '127.0.0.1',
        'agent-port': 9,
        'admin-host': '127.0.0.1',
        'admin-port': 0,
      },
      listeners: ['admin'],
    });
    onTestFinished(() => sidecar.stop());
    await says([sidecar.adminUrl], 'agent_absent', 'engine_dead');
  });
});

describe.skipIf(!requireEnvoy())('of a gateway', () => {
  it('finds that it hides the bodies of answers', async () => {
    const text = JSON.stringify(gatewayBootstrap(['127.0.0.1:9']));
    const hidden = text.replace(/"response_body_mode":"[A-Z_]+"/, '"response_body_mode":"NONE"');
    expect(hidden).not.toBe(text);
    const envoy = await launchEnvoy({ bootstrap: hidden });
    onTestFinished(() => envoy.stop());
    await says([`http://127.0.0.1:${envoy.ports.admin}`], 'response_body_none');
  });
});
