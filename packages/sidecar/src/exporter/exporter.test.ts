import type { AgentOutcome, AgentSink } from '@leadsman/link/agent';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  type AgentEvents,
  Exporter,
  type ExporterMode,
  type ExporterOptions,
  overlapMs,
} from './exporter.ts';
import type { Transport } from './transport.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** An agent hop that does as it is told. */
class FakeAgent implements AgentSink {
  readonly frameBytesMax = 1_000_000;
  readonly outcomes = {
    accepted: 0,
    forward: 0,
    peer: 0,
    refused: 0,
    timeout: 0,
    unreachable: 0,
    superseded: 0,
  };
  lastOutcome: AgentOutcome | undefined;
  readonly offered: number[] = [];
  readonly taken: number[] = [];
  connected = false;
  busy = false;
  slow = false;
  closed = false;
  readonly onFailed: (frame: Uint8Array) => void;
  readonly onSlow: ((frame: Uint8Array) => void) | undefined;
  #listener: (accepting: boolean) => void = () => {};

  constructor({ onFailed, onSlow }: AgentEvents) {
    this.onFailed = onFailed;
    this.onSlow = onSlow;
  }

  send(frame: Uint8Array): boolean {
    if (this.connected) this.taken.push(frame[0] ?? -1);
    return this.connected;
  }

  offer(frame: Uint8Array): void {
    this.offered.push(frame[0] ?? -1);
  }

  onState(listener: (accepting: boolean) => void): () => void {
    this.#listener = listener;
    return () => {};
  }

  accept(accepting: boolean): void {
    this.connected = accepting;
    this.#listener(accepting);
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}

class FakeTransport implements Transport {
  readonly kind = 'nats';
  readonly register = async () => {};
  readonly sent: number[] = [];
  closed = false;
  readonly sink = {
    frameBytesMax: 1_000,
    connected: true,
    send: (frame: Uint8Array) => {
      if (this.sink.connected) this.sent.push(frame[0] ?? -1);
      return this.sink.connected;
    },
    close: async () => {},
  };

  async close(): Promise<void> {
    this.closed = true;
  }
}

function setUp(mode: ExporterMode, options: Partial<ExporterOptions> = {}) {
  vi.useFakeTimers();
  const world = {
    nowMs: 0,
    agent: undefined as FakeAgent | undefined,
    transports: [] as FakeTransport[],
    errors: [] as unknown[],
    ways: 0,
    freed: 0,
  };
  const exporter = new Exporter({
    mode,
    agent: (events) => {
      world.agent = new FakeAgent(events);
      return world.agent;
    },
    open: async () => {
      const transport = new FakeTransport();
      world.transports.push(transport);
      return transport;
    },
    patienceMs: 500,
    graceMs: 10_000,
    nowMs: () => world.nowMs,
    onWay: () => world.ways++,
    onFree: () => world.freed++,
    onError: (error) => world.errors.push(error),
    ...options,
  });
  return { exporter, world };
}

/** Lets promises settle that wait for nothing. */
async function settle(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

const frame = (id: number) => Uint8Array.of(id);

describe('exporter mode pod', () => {
  it('publishes and never speaks to an agent', async () => {
    const { exporter, world } = setUp('pod');
    exporter.send(frame(1));
    await settle();
    exporter.send(frame(2));
    await settle();
    expect(world.agent).toBeUndefined();
    expect(world.transports[0]?.sent).toEqual([2]);
    expect(exporter.path).toBe('nats');
    expect(world.ways).toBe(1);
    expect(exporter.counters).toMatchObject({ ownFrames: 1, droppedFrames: 1, handOvers: 0 });
  });
});

describe('exporter mode node', () => {
  it('hands frames to the agent and opens nothing, also while the agent is away', async () => {
    const { exporter, world } = setUp('node');
    world.nowMs = 60_000;
    exporter.send(frame(1));
    world.agent?.accept(true);
    exporter.send(frame(2));
    world.agent?.accept(false);
    exporter.send(frame(3));
    await settle();
    expect(world.agent?.taken).toEqual([2]);
    expect(world.transports).toEqual([]);
    expect(exporter.counters).toMatchObject({ agentFrames: 1, droppedFrames: 2 });
  });
});

describe('exporter mode auto', () => {
  it('opens no transport of its own when the agent answers', async () => {
    const { exporter, world } = setUp('auto');
    exporter.send(frame(1));
    world.agent?.accept(true);
    expect(world.ways).toBe(1);
    world.nowMs = 60_000;
    exporter.send(frame(2));
    await settle();
    expect(world.transports).toEqual([]);
    expect(exporter.path).toBe('agent');
    expect(exporter.ownOpen).toBe(false);
  });

  it('publishes by itself when no agent answers within its patience', async () => {
    const { exporter, world } = setUp('auto');
    exporter.send(frame(1));
    await settle();
    expect(world.transports).toEqual([]);
    world.nowMs = 500;
    exporter.send(frame(2));
    await settle();
    exporter.send(frame(3));
    expect(world.transports[0]?.sent).toEqual([3]);
  });

  it('publishes what the agent gives back, and all that follows, in the same moment', async () => {
    const { exporter, world } = setUp('auto');
    world.agent?.accept(true);
    exporter.send(frame(1));
    world.agent?.accept(false);
    await settle();
    world.agent?.onFailed(frame(1));
    exporter.send(frame(2));
    expect(world.transports[0]?.sent).toEqual([1, 2]);
    expect(exporter.path).toBe('nats');
    expect(exporter.counters).toMatchObject({
      agentFrames: 1,
      returnedFrames: 1,
      ownFrames: 2,
      droppedFrames: 0,
    });
    expect(exporter.counters.handOvers).toBe(2);
  });

  it('asks for a keyframe as soon as the new way is open, in both directions', async () => {
    const { exporter, world } = setUp('auto');
    world.agent?.accept(true);
    expect(world.ways).toBe(1);
    world.agent?.accept(false);
    await settle();
    exporter.send(frame(1));
    await settle();
    expect(world.ways).toBe(2);
    world.agent?.accept(true);
    expect(world.ways).toBe(3);
  });

  it('goes both ways for a while when the agent takes frames, then closes its own after a grace', async () => {
    const { exporter, world } = setUp('auto');
    world.nowMs = 500;
    exporter.send(frame(1));
    await settle();
    world.agent?.accept(true);
    exporter.send(frame(2));
    world.nowMs += overlapMs;
    exporter.send(frame(3));
    expect(world.agent?.taken).toEqual([2, 3]);
    expect(world.transports[0]?.sent).toEqual([2]);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(world.transports[0]?.closed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(world.transports[0]?.closed).toBe(true);
    expect(exporter.ownOpen).toBe(false);
    expect(exporter.counters).toMatchObject({ agentFrames: 2, ownFrames: 0 });
  });

  it('gives an agent that ends every frame until its own transport is open', async () => {
    const transport = new FakeTransport();
    const opened = Promise.withResolvers<Transport>();
    const { exporter, world } = setUp('auto', { open: () => opened.promise });
    const agent = world.agent as FakeAgent;
    agent.accept(true);
    agent.lastOutcome = 'forward';
    agent.accept(false);
    exporter.send(frame(1));
    exporter.send(frame(2));
    expect(agent.offered).toEqual([1, 2]);
    opened.resolve(transport);
    await settle();
    exporter.send(frame(3));
    expect(agent.offered).toEqual([1, 2]);
    expect(transport.sent).toEqual([3]);
  });

  it('keeps the transport of an agent that leaves again within the grace', async () => {
    const { exporter, world } = setUp('auto');
    world.nowMs = 500;
    exporter.send(frame(1));
    await settle();
    world.agent?.accept(true);
    await vi.advanceTimersByTimeAsync(5_000);
    world.agent?.accept(false);
    exporter.send(frame(2));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(world.transports).toHaveLength(1);
    expect(world.transports[0]?.closed).toBe(false);
    expect(world.transports[0]?.sent).toEqual([2]);
  });

  it('sends both ways while the agent hangs, and by the agent alone when it has answered for a while', async () => {
    const { exporter, world } = setUp('auto');
    const agent = world.agent as FakeAgent;
    agent.accept(true);
    exporter.send(frame(1));
    world.nowMs = 10_000;
    agent.busy = true;
    exporter.send(frame(2));
    expect(exporter.busy).toBe(true);
    expect(world.transports).toEqual([]);
    agent.slow = true;
    agent.onSlow?.(frame(2));
    expect(world.freed).toBe(1);
    expect(exporter.busy).toBe(false);
    await settle();
    const [transport] = world.transports;
    exporter.send(frame(3));
    world.nowMs += 10_000;
    exporter.send(frame(4));
    agent.slow = false;
    exporter.send(frame(5));
    world.nowMs += overlapMs;
    exporter.send(frame(6));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(agent.taken).toEqual([1, 2, 3, 4, 5, 6]);
    expect(transport?.sent).toEqual([3, 4, 5]);
    expect(transport?.closed).toBe(true);
    expect(exporter.counters).toMatchObject({ agentFrames: 6, ownFrames: 0, droppedFrames: 0 });
  });

  it('does not ask whether the agent is slow where there is no other way', () => {
    expect((setUp('auto').world.agent as FakeAgent).onSlow).toBeDefined();
    expect((setUp('node').world.agent as FakeAgent).onSlow).toBeUndefined();
  });

  it('publishes the frame that a slow agent has not answered', async () => {
    const { exporter, world } = setUp('auto');
    const agent = world.agent as FakeAgent;
    world.nowMs = 500;
    exporter.send(frame(1));
    await settle();
    agent.accept(true);
    world.nowMs = 5_000;
    exporter.send(frame(2));
    agent.onSlow?.(frame(2));
    expect(world.transports[0]?.sent).toEqual([2]);
  });

  it('tries again when its transport cannot be opened', async () => {
    let attempts = 0;
    const transport = new FakeTransport();
    const { exporter, world } = setUp('auto', {
      open: async () => {
        if (++attempts === 1) throw new Error('no file');
        return transport;
      },
    });
    world.nowMs = 500;
    exporter.send(frame(1));
    await vi.advanceTimersByTimeAsync(1_000);
    exporter.send(frame(2));
    expect(world.errors).toHaveLength(1);
    expect(transport.sent).toEqual([2]);
  });

  it('is a plain publisher in a pod that can have no agent', async () => {
    const { exporter, world } = setUp('auto', { agent: undefined });
    await settle();
    exporter.send(frame(1));
    expect(world.transports[0]?.sent).toEqual([1]);
  });

  it('closes both ways, also one that is just being opened', async () => {
    const { exporter, world } = setUp('auto');
    world.nowMs = 500;
    exporter.send(frame(1));
    await exporter.close();
    expect(world.agent?.closed).toBe(true);
    expect(world.transports[0]?.closed).toBe(true);
    exporter.send(frame(2));
    await settle();
    expect(world.transports).toHaveLength(1);
  });
});
