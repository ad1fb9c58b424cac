/** Replicas of a picker over a network that loses, repeats, delays and reorders messages. */
import { podKeyFromUid } from '@leadsman/wire';
import { describe, expect, it } from 'vitest';
import {
  createRig,
  endpointsOf,
  poolName,
  poolUpdate,
  type Rig,
  tally,
} from '../../fixture/scheduler-rig.ts';
import { BlockHashes } from '../../prefix/block-hash.ts';
import { seededRandom } from '../../random.ts';
import type { PickResult } from '../../scheduler.ts';
import { EndpointNames } from './endpoint-names.ts';
import { ReplicaExchange } from './replica-exchange.ts';

const config = {
  shareIntervalMs: 20,
  keyframeIntervalMs: 1_000,
  delayMsMax: 100,
  expireAfterMs: 3_000,
  historyBytesPerSecond: 1_000_000,
};

interface Replica extends Rig {
  exchange: ReplicaExchange;
  names: EndpointNames;
  /** This machine's monotonic clock minus the test's: replicas share none. */
  clockSkewMs: number;
}

/** Replicas, and messages under way between them. */
class Network {
  nowMs = 0;
  delayMs = 1;
  readonly replicas: Replica[] = [];
  readonly #underWay: { to: Replica; atMs: number; bytes: Uint8Array }[] = [];
  /** Called for each copy of a message; the times at which it arrives (none: lost). */
  deliveries: () => number[] = () => [this.delayMs];

  async add(name: string, count: number, strategy = 'least-request', epoch = 1): Promise<Replica> {
    const endpoints = endpointsOf(count);
    const text = `default: { strategy: ${strategy} }`;
    const rig = await createRig({ config: text, endpoints, seed: this.replicas.length + 1 });
    const replica = { ...rig, clockSkewMs: 1_000_000 * this.replicas.length } as Replica;
    const names = new EndpointNames();
    names.update([poolUpdate(endpoints)], []);
    replica.names = names;
    replica.exchange = new ReplicaExchange({
      replicaId: podKeyFromUid(name),
      epoch,
      inFlight: rig.inFlight,
      remote: rig.memory.remote,
      prefixIndex: rig.prefixIndex,
      names,
      histories: rig.histories,
      config,
      messageBytesMax: 65_536,
      send: (message) => {
        for (const to of this.replicas) {
          for (const delayMs of this.deliveries()) {
            const bytes = new Uint8Array(message);
            this.#underWay.push({ to, atMs: this.nowMs + delayMs, bytes });
          }
        }
        return true;
      },
    });
    this.replicas.push(replica);
    return replica;
  }

  /** Lets time pass in steps of 5 ms; every replica flushes each 20 ms. */
  run(forMs: number, each: () => void = () => undefined): void {
    for (const endMs = this.nowMs + forMs; this.nowMs < endMs; ) {
      this.nowMs += 5;
      const due = this.#underWay.filter(({ atMs }) => atMs <= this.nowMs);
      for (const message of due.sort((a, b) => a.atMs - b.atMs)) {
        this.#underWay.splice(this.#underWay.indexOf(message), 1);
        message.to.exchange.receive(message.bytes, this.nowMs + message.to.clockSkewMs);
      }
      for (const [i, replica] of this.replicas.entries()) {
        const isTurn = (this.nowMs + 5 * i) % config.shareIntervalMs === 0;
        if (isTurn) replica.exchange.flush(this.nowMs + replica.clockSkewMs);
      }
      each();
    }
  }
}

function remoteRequests(replica: Replica, index: number): number {
  const { ledger } = replica.scheduler.pools.get(poolName)!;
  return ledger.requests(index) - replica.inFlight.total(index, 0);
}

function otherReplicas(replica: Replica): number {
  return replica.scheduler.pools.get(poolName)!.ledger.otherReplicas;
}

describe('replicas of a picker', () => {
  it.each(['least-request', 'least-load', 'expected-work'])(
    'spread a burst as one would, under %s',
    async (strategy) => {
      const network = new Network();
      for (const name of ['a', 'b', 'c']) await network.add(name, 4, strategy);
      network.run(200);
      const picks: PickResult[] = [];
      let turn = 0;
      network.run(1_000, () => {
        if (picks.length >= 120) return;
        const replica = network.replicas[turn++ % 3]!;
        picks.push(replica.pick({ nowMs: network.nowMs, promptTokens: 300 }));
      });
      const counts = [...tally(picks).values()];
      expect(counts.length).toBe(4);
      expect(Math.max(...counts)).toBeLessThanOrEqual(36);
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(24);
    },
  );

  it('split 40 requests over two pods whose gauges stay at 0', async () => {
    const network = new Network();
    for (const name of ['a', 'b']) await network.add(name, 2);
    const picks: PickResult[] = [];
    network.run(2_000, () => {
      for (const replica of network.replicas) {
        if (network.nowMs % 50 === 0) {
          const { endpoints } = replica.scheduler.pools.get(poolName)!.table;
          for (const endpoint of endpoints) {
            const idle = { runningRequests: 0, waitingRequests: 0 };
            replica.gauges.report(endpoint, { measuredAtMs: network.nowMs - 5, ...idle });
          }
        }
        if (network.nowMs % 100 === 0 && picks.length < 40) {
          picks.push(replica.pick({ nowMs: network.nowMs }));
        }
      }
    });
    const counts = [...tally(picks).values()];
    expect(Math.max(...counts)).toBeLessThanOrEqual(28);
    expect(counts.reduce((sum, count) => sum + count)).toBe(40);
  });

  it('agree in the end on a network that loses, repeats, delays and reorders', async () => {
    const network = new Network();
    const random = seededRandom(11);
    network.deliveries = () => {
      const roll = random();
      if (roll < 0.3) return [];
      return roll < 0.5 ? [1 + 60 * random(), 1 + 60 * random()] : [1 + 60 * random()];
    };
    for (const name of ['a', 'b', 'c']) await network.add(name, 5);
    const open: { replica: Replica; ticket: number }[] = [];
    network.run(4_000, () => {
      const replica = network.replicas[Math.floor(random() * 3)]!;
      const { ticket } = replica.pick({ nowMs: network.nowMs, promptTokens: 100 });
      open.push({ replica, ticket });
      if (open.length < 30) return;
      const [ended] = open.splice(Math.floor(random() * open.length), 1);
      ended!.replica.scheduler.release(ended!.ticket, { outputTokens: 1, aborted: false });
    });
    network.deliveries = () => [1];
    network.run(2_500);
    for (const replica of network.replicas) {
      for (let index = 0; index < 5; index++) {
        const others = network.replicas.filter((other) => other !== replica);
        const truth = others.reduce((sum, { inFlight }) => sum + inFlight.total(index, 0), 0);
        expect(remoteRequests(replica, index)).toBe(truth);
      }
    }
    for (const { replica, ticket } of open) {
      replica.scheduler.release(ticket, { outputTokens: 1, aborted: false });
    }
    network.run(1_500);
    for (const replica of network.replicas) {
      for (let index = 0; index < 5; index++) expect(remoteRequests(replica, index)).toBe(0);
    }
  });

  it('ignore requests of one that is more than 100 ms late, and take them again later', async () => {
    const network = new Network();
    const [a, b] = [await network.add('a', 2), await network.add('b', 2)];
    network.run(1_500);
    expect([otherReplicas(a), otherReplicas(b)]).toEqual([1, 1]);
    b.pick({ nowMs: network.nowMs });
    network.run(100);
    expect(remoteRequests(a, 0) + remoteRequests(a, 1)).toBe(1);
    network.delayMs = 150;
    network.run(600);
    expect(remoteRequests(a, 0) + remoteRequests(a, 1)).toBe(0);
    expect(otherReplicas(a)).toBe(0);
    expect(a.exchange.delayMs(network.nowMs + a.clockSkewMs)).toBeGreaterThan(100);
    network.delayMs = 1;
    network.run(2_500);
    expect(otherReplicas(a)).toBe(1);
    expect(remoteRequests(a, 0) + remoteRequests(a, 1)).toBe(1);
  });

  it('find out a delay that was there from the start, by round trips', async () => {
    const network = new Network();
    network.delayMs = 150;
    const [a] = [await network.add('a', 2), await network.add('b', 2)];
    network.run(6_000);
    expect(a.exchange.delayMs(network.nowMs + a.clockSkewMs)).toBeGreaterThan(100);
    expect(otherReplicas(a)).toBe(0);
  });

  it('forget one that falls silent, and at once one that says it leaves', async () => {
    const network = new Network();
    const a = await network.add('a', 2);
    for (const name of ['b', 'c']) (await network.add(name, 2)).pick({ nowMs: 0 });
    network.run(1_200);
    expect(a.exchange.replicas.size).toBe(2);
    expect(remoteRequests(a, 0) + remoteRequests(a, 1)).toBe(2);
    const [, b, c] = network.replicas;
    network.replicas.splice(1, 2);
    b!.exchange.leave(network.nowMs);
    network.run(20);
    expect(a.exchange.replicas.size).toBe(1);
    // Silence with requests in flight first costs trust, then the place.
    network.run(500);
    expect(remoteRequests(a, 0) + remoteRequests(a, 1)).toBe(0);
    network.run(4_000);
    expect(a.exchange.replicas.size).toBe(0);
    expect(c!.exchange.sender.messages).toBeGreaterThan(0);
  });

  it('drop what one said in an earlier life as soon as it starts again', async () => {
    const network = new Network();
    const a = await network.add('a', 1);
    const before = await network.add('b', 1);
    before.pick({ nowMs: 0 });
    network.run(1_200);
    expect(remoteRequests(a, 0)).toBe(1);
    network.replicas.pop();
    await network.add('b', 1, 'least-request', 2);
    network.run(60);
    expect(remoteRequests(a, 0)).toBe(0);
    expect(a.exchange.replicas.size).toBe(1);
  });

  it('learn of each other prompts, within the budget of bytes', async () => {
    const network = new Network();
    const [a, b] = [await network.add('a', 2, 'prefix-cache'), await network.add('b', 2)];
    network.run(40);
    const prompt = new TextEncoder().encode('a long system prompt. '.repeat(200));
    const sent = a.pick({ nowMs: network.nowMs, prompt, promptTokens: 1_000 });
    network.run(60);
    const blocks = new BlockHashes();
    const { prompt: match } = a.scheduler.pools.get(poolName)!;
    blocks.count = match.blocks().count;
    blocks.high.set(match.blocks().high);
    blocks.low.set(match.blocks().low);
    expect(blocks.count).toBeGreaterThan(10);
    expect(b.prefixIndex.match(sent.endpoint!.index, blocks)).toBe(blocks.count);
    // Repeating it soon is no news: nothing more travels.
    const bytes = a.exchange.sender.historyBytes;
    for (let i = 0; i < 20; i++) a.pick({ nowMs: network.nowMs, prompt, promptTokens: 1_000 });
    network.run(100);
    const perPod = 32 + blocks.count * 8;
    expect(a.exchange.sender.historyBytes - bytes).toBeLessThanOrEqual(perPod);
  });

  it('survive messages that are none', async () => {
    const network = new Network();
    const a = await network.add('a', 1);
    const random = seededRandom(5);
    for (let i = 0; i < 200; i++) {
      const length = Math.floor(random() * 200);
      a.exchange.receive(
        Uint8Array.from({ length }, () => random() * 256),
        i,
      );
    }
    expect(a.exchange.counters.malformed).toBe(200);
    expect(a.exchange.replicas.size).toBe(0);
  });
});

describe('an endpoint index that goes to another pod', () => {
  it('takes nothing over: neither requests of others nor prompts', async () => {
    const network = new Network();
    const [a, b] = [await network.add('a', 1), await network.add('b', 1)];
    b.pick({ nowMs: 0 });
    const blocks = new BlockHashes();
    blocks.set(new TextEncoder().encode('x'.repeat(2_048)), 1);
    a.prefixIndex.enter(0, blocks);
    network.run(1_100);
    expect(remoteRequests(a, 0)).toBe(1);
    const [old] = endpointsOf(1);
    const successor = { ...old!, podKey: '11111111-2222-3333-4444-555555555555' };
    const changed = a.names.update([poolUpdate([successor], 2)], []);
    expect(changed).toEqual([0]);
    a.exchange.forget(changed);
    a.prefixIndex.blocks.clear(0);
    expect(remoteRequests(a, 0)).toBe(0);
    expect(a.prefixIndex.match(0, blocks)).toBe(0);
    expect(a.names.update([poolUpdate([successor], 3)], [])).toEqual([]);
  });
});
