/**
 * The senders of all nodes in one process: real batching, real connections, one per node (or one
 * per pod in exporter mode `pod`).
 *
 * What is left out, because two cores cannot carry a thousand of them: the sidecars' processes,
 * their scrapes and the HTTP hop to the agent (`footprint` measures these). A report appears here
 * at the moment when a sidecar would hand it over: some `scrapeMs` after the engine's number was
 * read.
 */
import { randomBytes } from 'node:crypto';
import { connectNats, type FrameSink, grpcSink, type NatsLink, natsSink } from '@leadsman/link';
import { Batcher, FlushLoop } from '@leadsman/node-agent';
import { monotonicMs } from '@leadsman/service';
import { nodeFramesSubject, podFramesSubject, senderIdBytes } from '@leadsman/wire';
import type { SenderTask } from './messages.ts';
import { nodeNameOf } from './plan.ts';

/** What one connection sends for. */
export interface Sender {
  readonly connected: boolean;
  take(frame: Uint8Array): void;
  stop(): Promise<void>;
}

export interface SenderCounters {
  frames: number;
  frameBytes: number;
  dropped: number;
}

interface Outlet {
  sink: FrameSink;
  close(): Promise<void>;
}

function openOutlet(task: SenderTask, name: string, subject: string): Outlet {
  if (task.collectors.length > 0) {
    const sink = grpcSink({ targets: task.collectors });
    return { sink, close: () => sink.close() };
  }
  const link: NatsLink = connectNats({ servers: task.natsServers, name });
  return { sink: natsSink(link, subject), close: () => link.close() };
}

/** Counts what leaves through a sink. */
function counted(sink: FrameSink, counters: SenderCounters): FrameSink {
  return {
    get frameBytesMax() {
      return sink.frameBytesMax;
    },
    get connected() {
      return sink.connected;
    },
    send(frame) {
      const sent = sink.send(frame);
      if (sent) {
        counters.frames++;
        counters.frameBytes += frame.length;
      } else counters.dropped++;
      return sent;
    },
    close: () => sink.close(),
  };
}

/** A node's agent without its HTTP side. */
export function agentSender(task: SenderTask, node: number, counters: SenderCounters): Sender {
  const name = nodeNameOf(node);
  const outlet = openOutlet(task, name, nodeFramesSubject(task.subjectPrefix, name));
  const sink = counted(outlet.sink, counters);
  const batcher = new Batcher({
    sender: { id: randomBytes(senderIdBytes), epoch: Date.now() },
    sink,
    bounds: { windowMs: task.windowMs },
    keyframePhase: Math.random(),
    nowMs: monotonicMs(),
  });
  const loop = new FlushLoop(batcher, monotonicMs);
  return {
    get connected() {
      return outlet.sink.connected;
    },
    take(frame) {
      batcher.take(frame, undefined, monotonicMs());
      loop.wake();
    },
    async stop() {
      loop.stop();
      await outlet.close();
    },
  };
}

/** A sidecar that publishes for itself: each report is a message. */
export function podSender(task: SenderTask, pod: number, counters: SenderCounters): Sender {
  const name = `pod-${pod}`;
  const outlet = openOutlet(task, name, podFramesSubject(task.subjectPrefix, name));
  const sink = counted(outlet.sink, counters);
  return {
    get connected() {
      return outlet.sink.connected;
    },
    take(frame) {
      sink.send(frame);
    },
    stop: () => outlet.close(),
  };
}
