/**
 * Membership from a YAML file that is read again when it changes. A new version with a fault is
 * reported and ignored: the last good one stays.
 *
 * An endpoint that names no pod UID is whichever reporting pod has its address and port, so the
 * list is told again when a pod behind such an address appears or is replaced.
 */
import { readFile } from 'node:fs/promises';
import type { Member } from '@leadsman/scheduling/endpoint';
import type { Logger } from '@leadsman/service';
import type { ViewReader } from '@leadsman/view/reader';
import { epochTakeoverMs } from '@leadsman/wire';
import type { MembershipListener, MembershipSource } from './membership.ts';
import {
  declaredPodKey,
  type PoolFile,
  type PoolFileEndpoint,
  PoolFileError,
  parsePoolFile,
} from './pool-file.ts';
import { viewPollMs } from './view-source.ts';

/**
 * How often the file is read, ms. Reading is cheap and sees every kind of replacement (a
 * ConfigMap swaps a symbolic link two folders up), which file events do not.
 */
const filePollMs = 1_000;

export interface FileSourceOptions {
  path: string;
  /** Must belong to this source alone. */
  reader: ViewReader;
  logger: Logger;
}

export class FileSource implements MembershipSource {
  readonly #options: FileSourceOptions;
  #listener: MembershipListener | undefined;
  #text = '';
  #file: PoolFile | undefined;
  #problem = 'the pool file has not been read yet';
  readonly #told = new Map<string, string>();
  #timers: NodeJS.Timeout[] = [];

  constructor(options: FileSourceOptions) {
    this.#options = options;
  }

  start(listener: MembershipListener): void {
    this.#listener = listener;
    void this.#read();
    this.#timers = [
      setInterval(() => void this.#read(), filePollMs),
      setInterval(() => {
        if (this.#options.reader.refresh()) this.#tell();
      }, viewPollMs),
    ];
  }

  notSynced(): string | undefined {
    return this.#file === undefined ? this.#problem : undefined;
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#listener = undefined;
  }

  async #read(): Promise<void> {
    try {
      const text = await readFile(this.#options.path, 'utf8');
      if (text === this.#text) {
        // Who is behind an address may change by silence alone.
        this.#tell();
        return;
      }
      this.#text = text;
      this.#file = parsePoolFile(text);
      this.#problem = '';
      this.#tell();
    } catch (error) {
      const problem = `pool file: ${error instanceof Error ? error.message : String(error)}`;
      if (problem === this.#problem) return;
      this.#problem = problem;
      const problems = error instanceof PoolFileError ? error.problems : undefined;
      this.#options.logger.error({ problems, path: this.#options.path }, problem);
    }
  }

  #tell(): void {
    if (this.#file === undefined || this.#listener === undefined) return;
    const podKeyOf = this.#reportingPods();
    const names = new Set<string>();
    for (const pool of this.#file.pools) {
      names.add(pool.name);
      const members = pool.endpoints.map((entry) => toMember(entry, podKeyOf));
      const { authorities, objectives } = pool;
      const now = JSON.stringify({ members, authorities, objectives });
      if (this.#told.get(pool.name) === now) continue;
      this.#told.set(pool.name, now);
      const reasons = members.length === 0 ? ['the pool file names no endpoint'] : [];
      this.#listener.poolChanged({ pool: pool.name, members, authorities, objectives, reasons });
    }
    for (const name of this.#told.keys()) {
      if (names.has(name)) continue;
      this.#told.delete(name);
      this.#listener.poolRemoved(name);
    }
  }

  /** The pod behind each reporting address and port, where several say so by {@link succeeds}. */
  #reportingPods(): Map<string, string> {
    const { reader } = this.#options;
    const slots = new Map<string, number>();
    for (let slot = 0; slot < reader.slots; slot++) {
      if (!reader.isUsed(slot)) continue;
      const target = `${reader.address(slot)} ${reader.port(slot)}`;
      const other = slots.get(target);
      if (other === undefined || succeeds(reader, slot, other)) slots.set(target, slot);
    }
    return new Map([...slots].map(([target, slot]) => [target, reader.podKey(slot)]));
  }
}

/**
 * Whether the pod of `slot` has taken the address over from that of `other`. Its sender is the
 * younger one: it has the higher epoch. That a report came last says nothing, it may have been long
 * on its way. Only when the younger one has been silent for as long as a clock set back takes
 * (`epochTakeoverMs`) does a newer measurement of the elder count.
 */
function succeeds(reader: ViewReader, slot: number, other: number): boolean {
  const [epoch, otherEpoch] = [reader.epoch(slot), reader.epoch(other)];
  if (epoch === otherEpoch) return reader.measuredAtMs(slot) > reader.measuredAtMs(other);
  if (epoch < otherEpoch) return !succeeds(reader, other, slot);
  return reader.measuredAtMs(other) - reader.receivedAtMs(slot) < epochTakeoverMs;
}

function toMember(entry: PoolFileEndpoint, podKeyOf: ReadonlyMap<string, string>): Member {
  const reporting =
    entry.podUid === undefined ? podKeyOf.get(`${entry.address} ${entry.port}`) : undefined;
  return {
    podKey: reporting ?? declaredPodKey(entry),
    address: entry.address,
    port: entry.port,
    rank: 0,
    podName: entry.podName,
    namespace: entry.namespace,
    labels: entry.labels,
  };
}
