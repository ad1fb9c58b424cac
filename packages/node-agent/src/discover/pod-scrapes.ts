/**
 * The scrapes of pods without a sidecar: one target per serving port, with the pace and the care
 * of a sidecar's. Their reports go into the same batches as all others.
 */
import {
  type PaceSettings,
  type PageCounters,
  PageReader,
  paceDefaults,
  pageBytesMaxDefault,
  scrapeTimeoutMsDefault,
  suspicionDefaults,
  Target,
  type TargetOptions,
} from '@leadsman/scrape';
import {
  type FrameSender,
  FrameWriter,
  keyframeIntervalMs,
  reasonName,
  recordType,
} from '@leadsman/wire';
import type { PodFacts, ScrapeTarget } from './pod-facts.ts';

export interface PodScrapesOptions {
  nodeName: string;
  /** Wanted time between two scrapes of one target, ms; at most that of {@link paceDefaults}. */
  intervalMs: number;
  /** Whether engines may be asked by name; by default they may. */
  byName?: boolean;
  /** Targets at once; more are counted and not scraped. */
  targetsMax: number;
  sender: FrameSender;
  /** Gives a frame to the batcher. */
  take: (frame: Uint8Array) => void;
  nowMs: () => number;
  unixMs: () => number;
  random: () => number;
  onError: (error: unknown, pod: string) => void;
}

interface Running {
  /** What it was made from: another text means another target. */
  made: string;
  target: Target;
  sentAttributes: Uint8Array | undefined;
  /** When they were sent last, ms. */
  sentAttributesMs: number;
}

export class PodScrapes {
  /** Scrapes so far, by outcome. */
  readonly outcomes = new Map<string, number>();
  /** Targets that could not be had: no room, or an address or engine that cannot be used. */
  refusedTargets = 0;
  /** Pages of targets that are gone. */
  readonly #endedPages = noPages();
  readonly #options: PodScrapesOptions;
  readonly #reader = new PageReader();
  readonly #writer: FrameWriter;
  readonly #running = new Map<string, Running>();
  readonly #pace: PaceSettings;

  constructor(options: PodScrapesOptions) {
    this.#options = options;
    this.#writer = new FrameWriter(options.sender, 65_536);
    const { intervalMs } = options;
    this.#pace = {
      ...paceDefaults,
      intervalMs,
      idleIntervalMs: Math.max(intervalMs, paceDefaults.idleIntervalMs),
    };
  }

  get size(): number {
    return this.#running.size;
  }

  /** Pages fetched so far, by the way they were asked for. */
  get pages(): Readonly<PageCounters> {
    const sum = { ...this.#endedPages };
    for (const { target } of this.#running.values()) addPages(sum, target.pages);
    return sum;
  }

  /** Begins, changes or ends the scrapes of a pod so that they are as its facts say. */
  update(pod: PodFacts): void {
    const wanted = new Set(pod.targets.map(({ port }) => keyOf(pod.uid, port)));
    for (const key of this.#running.keys()) {
      if (key.startsWith(`${pod.uid}/`) && !wanted.has(key)) this.#end(key);
    }
    for (const [rank, target] of pod.targets.entries()) this.#ensure(pod, target, rank);
  }

  /** The pod is gone. */
  remove(pod: PodFacts): void {
    this.update({ ...pod, targets: [] });
  }

  async stop(): Promise<void> {
    const targets = [...this.#running.values()].map(({ target }) => target);
    this.#running.clear();
    await Promise.all(targets.map((target) => target.stop()));
  }

  #ensure(pod: PodFacts, wanted: ScrapeTarget, rank: number): void {
    const key = keyOf(pod.uid, wanted.port);
    const made = `${wanted.url} ${wanted.engine} ${rank}`;
    if (this.#running.get(key)?.made === made) return;
    if (this.#running.has(key)) this.#end(key);
    if (this.#running.size >= this.#options.targetsMax) {
      this.refusedTargets++;
      return;
    }
    try {
      const target = this.#create(pod, wanted, rank);
      this.#running.set(key, { made, target, sentAttributes: undefined, sentAttributesMs: 0 });
      target.start();
    } catch (error) {
      // An annotation with an engine that nobody knows must not end the others' scrapes.
      this.refusedTargets++;
      this.#options.onError(error, `${pod.namespace}/${pod.name}`);
    }
  }

  #create(pod: PodFacts, wanted: ScrapeTarget, rank: number): Target {
    const { nowMs, unixMs, random, nodeName, byName = true } = this.#options;
    const options: TargetOptions = {
      identity: {
        podUid: pod.uid,
        podName: pod.name,
        namespace: pod.namespace,
        nodeName,
        address: pod.address,
        port: wanted.port,
        rank,
        reporter: 'agent',
        metricsPort: String(wanted.port),
      },
      fetch: {
        url: wanted.url,
        timeoutMs: scrapeTimeoutMsDefault,
        bytesMax: pageBytesMaxDefault,
        tokenFile: '',
        localAddress: '',
        tlsCaFile: '',
        // A certificate names a service, not the address of a pod.
        tlsVerify: false,
      },
      pace: this.#pace,
      suspicion: suspicionDefaults,
      engine: wanted.engine,
      byName,
    };
    const key = keyOf(pod.uid, wanted.port);
    return new Target(options, {
      reader: this.#reader,
      clock: { nowMs, unixMs },
      random,
      onReport: (target) => this.#report(key, target),
    });
  }

  #report(key: string, target: Target): void {
    const running = this.#running.get(key);
    // The last word of a scrape that was under way when its target ended.
    if (running?.target !== target) return;
    const { state } = target;
    const outcome = reasonName(state.reason);
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    const nowMs = this.#options.nowMs();
    this.#writer.append(recordType.report, state.reportBytes(nowMs));
    const attributes = state.attributesBytes();
    // Repeated as a sidecar does it: the batcher may have refused them, or forgotten the target.
    const isRepetition = nowMs - running.sentAttributesMs >= keyframeIntervalMs;
    if (running.sentAttributes !== attributes || isRepetition) {
      running.sentAttributes = attributes;
      running.sentAttributesMs = nowMs;
      this.#writer.append(recordType.attributes, attributes);
    }
    const ranks = state.ranksBytes();
    if (ranks !== undefined) this.#writer.append(recordType.ranks, ranks);
    this.#options.take(this.#writer.finish());
  }

  #end(key: string): void {
    const running = this.#running.get(key);
    if (running === undefined) return;
    this.#running.delete(key);
    void running.target.stop();
    addPages(this.#endedPages, running.target.pages);
    // Without a single report nobody knows of it.
    if (running.sentAttributes === undefined) return;
    this.#writer.append(recordType.gone, running.target.state.goneBytes());
    this.#options.take(this.#writer.finish());
  }
}

function noPages(): PageCounters {
  return { wholePages: 0, wholeBytes: 0, byNamePages: 0, byNameBytes: 0, byNameRefused: 0 };
}

function addPages(sum: PageCounters, pages: Readonly<PageCounters>): void {
  for (const key of Object.keys(sum) as (keyof PageCounters)[]) sum[key] += pages[key];
}

function keyOf(uid: string, port: number): string {
  return `${uid}/${port}`;
}
