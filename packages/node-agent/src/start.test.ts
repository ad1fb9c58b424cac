import {
  connectNats,
  type FrameSource,
  grpcFrameServer,
  type NatsLink,
  natsSource,
} from '@leadsman/link';
import { createLogger, stallToleranceMs, tickMs } from '@leadsman/service';
import { launchNats, type NatsServer, requireNats, waitUntil } from '@leadsman/testing';
import { allFramesSubject, recordType } from '@leadsman/wire';
import { Client } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { batchBoundsDefault } from './batch/bounds.ts';
import { attributesOf, Collected, frameOf, reportFrame, reportOf } from './batch/frames.fixture.ts';
import { nodeAgentConfigShape } from './config.ts';
import { type NodeAgent, startNodeAgent } from './start.ts';

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function start(options: Record<string, unknown>): Promise<NodeAgent> {
  const config = nodeAgentConfigShape.parse({
    nodeName: 'n.1',
    adminHost: '127.0.0.1',
    adminPort: 0,
    ...options,
  });
  const logger = createLogger({ name: 'test', level: 'silent' });
  const agent = await startNodeAgent(config, { logger });
  cleanUps.push(() => agent.stop());
  return agent;
}

async function nats(...args: Parameters<typeof launchNats>): Promise<NatsServer> {
  const server = await launchNats(...args);
  cleanUps.push(() => server.stop());
  return server;
}

function collect(source: FrameSource): Collected {
  const got = new Collected();
  source.start((frame) => got.add(frame));
  return got;
}

function listen(server: NatsServer): Collected {
  const link: NatsLink = connectNats({ servers: [server.url], name: 'reader' });
  cleanUps.push(() => link.close());
  return collect(natsSource(link, allFramesSubject('leadsman')));
}

function pod(agent: NodeAgent, localAddress = '127.0.0.1') {
  const client = new Client(`http://${agent.address}`, { localAddress });
  cleanUps.push(() => client.destroy());
  return async (body: Uint8Array, type = 'application/vnd.leadsman.frame') => {
    const reply = await client.request({
      method: 'POST',
      path: '/v1/frames',
      headers: { 'content-type': type },
      body,
    });
    return { status: reply.statusCode, text: await reply.body.text() };
  };
}

const local = { address: '127.0.0.1' };
const until = (what: string, probe: () => boolean | Promise<boolean>) => waitUntil(probe, { what });

describe.skipIf(!requireNats())('the node agent with NATS', () => {
  it('publishes what its pods report', async () => {
    const server = await nats();
    const got = listen(server);
    const agent = await start({ natsUrl: [server.url] });
    const post = pod(agent);
    await until('forwarding', async () => {
      return (await post(reportFrame({ uid: 'a', seq: 1, ...local }))).status === 204;
    });
    expect((await post(reportFrame({ uid: 'a', seq: 2, ...local }))).status).toBe(204);
    await until('report 2', () => got.report('a')?.seq === 2);
  });

  it('refuses what is no frame, too large, or from another than the pod', async () => {
    const server = await nats();
    const agent = await start({ natsUrl: [server.url] });
    const post = pod(agent);
    expect((await post(Uint8Array.of(1, 2, 3))).status).toBe(400);
    expect((await post(new Uint8Array(70_000))).status).toBe(413);
    expect((await post(Uint8Array.of(65), 'text/plain')).status).toBe(400);
    const foreign = await post(reportFrame({ uid: 'a', seq: 1, address: '10.1.1.1' }));
    expect(foreign.status).toBe(403);
    expect(JSON.parse(foreign.text).error).toEqual({
      code: 'wrong_peer',
      message: '127.0.0.1 is not the pod that the frame speaks for',
    });
    expect(agent.batcher.targets.size).toBe(0);
    const mapped = await post(reportFrame({ uid: 'a', seq: 1, address: '::ffff:127.0.0.1' }));
    expect([204, 503]).toContain(mapped.status);
  });

  it('knows a pod on another address of the machine by that address', async () => {
    const server = await nats();
    const agent = await start({ natsUrl: [server.url] });
    const frame = reportFrame({ uid: 'a', seq: 1, address: '127.0.1.7' });
    expect((await pod(agent)(frame)).status).toBe(403);
    expect([204, 503]).toContain((await pod(agent, '127.0.1.7')(frame)).status);
  });

  it('answers 503 while NATS is away, and sends the newest state when it returns', async () => {
    const first = await nats();
    const agent = await start({ natsUrl: [first.url] });
    const post = pod(agent);
    await until('forwarding', async () => {
      return (await post(reportFrame({ uid: 'a', seq: 1, ...local }))).status === 204;
    });
    first.kill('SIGKILL');
    await first.process.exited;
    await until('503', async () => {
      return (await post(reportFrame({ uid: 'a', seq: 1, ...local }))).status === 503;
    });
    const ready = await fetch(`http://${agent.address}/readyz`);
    expect(ready.status).toBe(503);
    for (let seq = 2; seq <= 20; seq++) await post(reportFrame({ uid: 'a', seq, ...local }));
    const second = await nats({ port: first.ports.client });
    const got = listen(second);
    await until('the newest state', () => got.report('a')?.seq === 20);
    expect(got.frames[0]?.records).toBe(1);
  });

  it('says that it ends before it does, and sends on what it gets meanwhile', async () => {
    const server = await nats();
    const got = listen(server);
    const agent = await start({ natsUrl: [server.url] });
    const post = pod(agent);
    let seq = 0;
    const report = () => post(reportFrame({ uid: 'a', seq: ++seq, ...local }));
    await until('forwarding', async () => (await report()).status === 204);
    const stopped = agent.stop();
    expect((await report()).status).toBe(503);
    await until('the last report', () => got.report('a')?.seq === seq);
    await stopped;
  });

  it('refuses what comes right after it stood still, as nobody knows how old that is', async () => {
    const server = await nats();
    const agent = await start({ natsUrl: [server.url] });
    const post = pod(agent);
    let seq = 0;
    const report = () => post(reportFrame({ uid: 'a', seq: ++seq, ...local }));
    await until('forwarding', async () => (await report()).status === 204);
    const never = new Int32Array(new SharedArrayBuffer(4));
    await until('a refusal', async () => {
      Atomics.wait(never, 0, 0, stallToleranceMs + 2 * tickMs);
      const { status, text } = await report();
      return status === 503 && JSON.parse(text).error.code === 'stalled';
    });
    await until('frames taken again', async () => (await report()).status === 204);
    expect(agent.batcher.counters.refusedStalled).toBeGreaterThan(0);
  });

  it('shows its targets and its metrics', async () => {
    const server = await nats();
    const agent = await start({ natsUrl: [server.url] });
    await pod(agent)(
      frameOf(
        [recordType.report, reportOf({ uid: 'a', seq: 1, ...local })],
        [recordType.attributes, attributesOf('a', 1, ['llama'])],
      ),
    );
    const { targets } = (await (await fetch(`http://${agent.address}/v1/targets`)).json()) as {
      targets: unknown[];
    };
    expect(targets).toMatchObject([{ port: 8000, address: '127.0.0.1', models: ['llama'] }]);
    const metrics = await (await fetch(`http://${agent.address}/metrics`)).text();
    expect(metrics).toContain('leadsman_node_agent_targets 1');
    expect(metrics).toContain('leadsman_node_agent_nats_auth_errors_total 0');
  });
});

describe('the node agent without a broker', () => {
  it('streams to the collectors', async () => {
    const collector = grpcFrameServer({ host: '127.0.0.1', port: 0, graceMs: 100 });
    cleanUps.push(() => collector.close());
    const got = collect(collector);
    const port = await collector.listen();
    const agent = await start({ collectorUrl: [`grpc://127.0.0.1:${port}`] });
    const post = pod(agent);
    await until('forwarding', async () => {
      return (await post(reportFrame({ uid: 'a', seq: 1, ...local }))).status === 204;
    });
    await until('the report', () => got.report('a')?.seq === 1);
  });

  it('starts while nobody answers, and says so', async () => {
    const agent = await start({ collectorUrl: ['grpc://127.0.0.1:1'] });
    const answer = await pod(agent)(reportFrame({ uid: 'a', seq: 1, ...local }));
    expect(answer.status).toBe(503);
    expect(agent.batcher.targets.size).toBe(1);
  });

  it('scrapes its pods so often that it does not forget them in between', () => {
    const parse = (scrapeIntervalMs: number) =>
      nodeAgentConfigShape.safeParse({ nodeName: 'n', natsUrl: ['nats://a'], scrapeIntervalMs });
    const most = parse(1_000);
    expect(most.data?.scrapeIntervalMs).toBeLessThan(batchBoundsDefault.expireMs / 2);
    expect(parse(1_001).success).toBe(false);
  });

  it('is not configured by halves', () => {
    expect(nodeAgentConfigShape.safeParse({ nodeName: 'n' }).success).toBe(false);
    const both = { nodeName: 'n', natsUrl: ['nats://a'], collectorUrl: ['grpc://a:1'] };
    expect(nodeAgentConfigShape.safeParse(both).success).toBe(false);
  });
});
