import { EventEmitter } from 'node:events';
import type { WatchCall } from '@leadsman/link';
import { createView, feedState } from '@leadsman/view/layout';
import { ViewReader } from '@leadsman/view/reader';
import { ViewWriter } from '@leadsman/view/writer';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expireAfterMsDefault } from '../ingest/fleet.ts';
import { FrameIngest } from '../ingest/frame-ingest.ts';
import { attributesRecord, goneRecord, reportRecord, SampleSender } from '../sample-frame.ts';
import { Departures } from './departures.ts';
import { WatchGroup } from './watch-group.ts';

const uids = ['pod-a', 'pod-b', 'pod-c', 'pod-d', 'pod-e'];
const tickEveryMs = 100;

/** A view with its ingest, and what it holds: sequence and name of each endpoint, by UID. */
class SampleView {
  readonly shared = createView({ slotsMax: 8 });
  readonly departures = new Departures(512);
  readonly ingest = new FrameIngest({
    writer: new ViewWriter(this.shared),
    nowMs: 0,
    departures: this.departures,
  });
  readonly #reader = new ViewReader(this.shared);

  holds(): Record<string, string> {
    this.#reader.refresh();
    const all: Record<string, string> = {};
    for (const uid of uids) {
      const slot = this.#reader.slotOf(podKeyText(podKeyFromUid(uid)), 8000);
      if (slot < 0) continue;
      const name = this.#reader.attributes(slot)?.podName;
      all[uid] = `${this.#reader.epoch(slot)}.${this.#reader.seq(slot)} ${name}`;
    }
    return all;
  }
}

/** A collector that hears senders when the test lets it, in their order. */
class Replica extends SampleView {
  readonly #waiting: Uint8Array[] = [];
  readonly group: WatchGroup;

  constructor(id: number) {
    super();
    this.group = new WatchGroup({
      view: this.shared,
      departures: this.departures,
      sender: { id: new Uint8Array(16).fill(id), epoch: 1 },
      counters: { frames: 0, frameBytes: 0, lags: 0, missedDepartures: 0 },
    });
  }

  say(frame: Uint8Array): void {
    this.#waiting.push(frame);
  }

  hear(frames: number, nowMs: number): void {
    for (const frame of this.#waiting.splice(0, frames)) this.ingest.receive(frame, nowMs);
  }
}

/** The picker's end of a stream; what it gets goes into its view, unless the stream has ended. */
class Stream extends EventEmitter {
  writableLength = 0;
  isOpen = true;
  readonly #onFrame: (frame: Uint8Array) => void;

  constructor(onFrame: (frame: Uint8Array) => void) {
    super();
    this.#onFrame = onFrame;
  }

  write(frame: Uint8Array): boolean {
    if (this.isOpen) this.#onFrame(frame);
    return true;
  }
}

const uid = fc.constantFrom(...uids);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('report' as const), uid }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('leave' as const), uid }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), uid }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('hear' as const),
      replica: fc.constantFrom(0, 1),
      frames: fc.integer({ min: 1, max: 9 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('tick' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('congest' as const), on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('failOver' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('silence' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Two replicas, one picker that watches one of them, senders, and a clock. */
class System {
  readonly replicas = [new Replica(1), new Replica(2)] as const;
  readonly picker = new SampleView();
  readonly #sender = new SampleSender(9);
  readonly #order = new Map(uids.map((one) => [one, { epoch: 1, seq: 0 }]));
  #watched = 0;
  #stream: Stream;
  #nowMs = 0;

  constructor() {
    this.#stream = this.#open();
  }

  get watched(): Replica {
    return this.replicas[this.#watched]!;
  }

  take(what: Step): void {
    if (what.kind === 'hear') this.replicas[what.replica]!.hear(what.frames, this.#nowMs);
    else if (what.kind === 'tick') this.#tick();
    else if (what.kind === 'congest') this.#stream.writableLength = Number(what.on);
    else if (what.kind === 'failOver') this.#failOver();
    else if (what.kind === 'silence') this.#silence();
    else {
      const order = this.#order.get(what.uid)!;
      if (what.kind === 'restart') Object.assign(order, { epoch: order.epoch + 1, seq: 0 });
      order.seq++;
      const { epoch, seq } = order;
      const podName = `name-${epoch}`;
      const records =
        what.kind === 'leave'
          ? [goneRecord({ uid: what.uid, epoch, seq })]
          : [
              reportRecord({ uid: what.uid, epoch, seq }),
              attributesRecord({ uid: what.uid, epoch, podName }),
            ];
      const frame = this.#sender.frame(records);
      for (const replica of this.replicas) replica.say(frame);
    }
  }

  /** Lets everything arrive. */
  settle(): void {
    this.#hearAll();
    this.#stream.writableLength = 0;
    this.#tick();
  }

  /** Nobody says anything for longer than the expiry. */
  #silence(): void {
    this.#hearAll();
    for (let ms = 0; ms <= expireAfterMsDefault; ms += tickEveryMs) this.#tick();
  }

  #hearAll(): void {
    for (const replica of this.replicas) replica.hear(Number.POSITIVE_INFINITY, this.#nowMs);
  }

  #tick(): void {
    this.#nowMs += tickEveryMs;
    for (const { ingest } of this.replicas) ingest.tick(this.#nowMs, feedState.synced);
    // Nothing expires here: what leaves was told to leave.
    this.picker.ingest.tick(this.#nowMs, feedState.disconnected);
    this.watched.group.tick(this.#nowMs);
  }

  #failOver(): void {
    this.#stream.isOpen = false;
    this.watched.group.remove(this.#stream as unknown as WatchCall);
    this.#watched = 1 - this.#watched;
    this.#stream = this.#open();
  }

  #open(): Stream {
    const stream = new Stream((frame) => this.picker.ingest.receive(frame, this.#nowMs));
    this.watched.group.add(stream as unknown as WatchCall);
    return stream;
  }
}

test('after arrivals, departures, congestion and changes of replica a watcher sees what its collector does', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
      const system = new System();
      for (const one of steps) system.take(one);
      system.settle();
      expect(system.picker.holds()).toEqual(system.watched.holds());
    }),
    { numRuns: 200 },
  );
});

test('a watcher that changes between replicas never goes back', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const system = new System();
      const seen = new Map<string, number>();
      for (const one of steps) {
        system.take(one);
        for (const [name, text] of Object.entries(system.picker.holds())) {
          const [epoch = 0, seq = 0] = text.split(/[. ]/).map(Number);
          const order = epoch * 1_000 + seq;
          expect(order).toBeGreaterThanOrEqual(seen.get(name) ?? 0);
          seen.set(name, order);
        }
      }
    }),
    { numRuns: 100 },
  );
});
