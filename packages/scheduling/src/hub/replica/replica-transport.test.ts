/** Replicas over a real NATS server: they hear of each other's requests within a moment. */
import { connectNats, type NatsLink } from '@leadsman/link';
import { launchNats, type NatsServer, requireNats, waitUntil } from '@leadsman/testing';
import { podKeyFromUid } from '@leadsman/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createRig,
  endpointsOf,
  poolName,
  poolUpdate,
  type Rig,
} from '../../fixture/scheduler-rig.ts';
import { EndpointNames } from './endpoint-names.ts';
import { ReplicaExchange } from './replica-exchange.ts';
import { natsReplicaTransport } from './replica-transport.ts';

const config = {
  shareIntervalMs: 20,
  keyframeIntervalMs: 200,
  delayMsMax: 5_000,
  expireAfterMs: 10_000,
  historyBytesPerSecond: 1_000_000,
};

describe.skipIf(!requireNats())('replicas over NATS', () => {
  let nats: NatsServer;
  const links: NatsLink[] = [];
  const timers: NodeJS.Timeout[] = [];

  beforeAll(async () => {
    nats = await launchNats();
  });

  afterAll(async () => {
    for (const timer of timers) clearInterval(timer);
    await Promise.all(links.map((link) => link.close()));
    await nats.stop();
  });

  async function replica(name: string): Promise<Rig & { exchange: ReplicaExchange }> {
    const endpoints = endpointsOf(3);
    const rig = await createRig({ config: 'default: { strategy: least-request }', endpoints });
    const link = connectNats({ servers: [nats.url], name });
    links.push(link);
    const names = new EndpointNames();
    names.update([poolUpdate(endpoints)], []);
    const transport = natsReplicaTransport(link, 'leadsman', name);
    const exchange = new ReplicaExchange({
      replicaId: podKeyFromUid(name),
      epoch: 1,
      inFlight: rig.inFlight,
      remote: rig.memory.remote,
      prefixIndex: rig.prefixIndex,
      names,
      histories: rig.histories,
      config,
      messageBytesMax: transport.messageBytesMax,
      send: (message) => transport.send(message),
    });
    transport.start((message) => exchange.receive(message, performance.now()));
    timers.push(setInterval(() => exchange.flush(performance.now()), config.shareIntervalMs));
    return { ...rig, exchange };
  }

  function total(rig: Rig): number {
    const { ledger } = rig.scheduler.pools.get(poolName)!;
    return [0, 1, 2].reduce((sum, index) => sum + ledger.requests(index), 0);
  }

  it('count each other, also after the broker was away', async () => {
    const [a, b] = [await replica('picker-a'), await replica('picker/b.*')];
    const tickets = Array.from({ length: 6 }, () => a.pick().ticket);
    await waitUntil(() => total(b) === 6, { what: 'b to count the requests of a' });
    expect(b.exchange.replicas.size).toBe(1);
    // Between them they leave no endpoint idle: b knows where a sent.
    for (let i = 0; i < 3; i++) b.pick();
    await waitUntil(() => total(a) === 9, { what: 'a to count the requests of b' });

    nats.kill();
    for (const ticket of tickets) a.scheduler.release(ticket, { outputTokens: 1, aborted: false });
    await waitUntil(() => !links[0]!.connected, { what: 'the loss of the broker' });
    nats = await launchNats({ port: nats.ports.client });
    await waitUntil(() => total(b) === 3, { what: 'b to hear that the requests ended' });
  });
});
