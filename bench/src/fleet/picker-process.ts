/**
 * Entry of the process that is a picker: the real one, with one worker, that reads the
 * fleet's feed by its own collector and takes every endpoint of its view for a member of its pool.
 */
import { pickerConfigShape, startPicker } from '@leadsman/picker';
import { createLogger } from '@leadsman/service';
import { waitUntil } from '@leadsman/testing';
import { Registry } from 'prom-client';
import { cpuUsOf, pssBytesOf, rssBytesOf } from './process-cpu.ts';

export interface PickerTask {
  natsServers: readonly string[];
  subjectPrefix: string;
}

export interface PickerReady {
  extProcPort: number;
  /** Where senders stream to without a broker; empty with one. */
  direct: string;
}

/** Since the start of the process. */
export interface PickerStatus {
  /** Members of its pool. */
  members: number;
  /** µs, of all its processes but the collector. */
  cpuUs: number;
  collectorCpuUs: number;
  /** Of all its processes; what they share counts for each of them. */
  rssBytes: number;
  /** The same, with each shared page counted once. */
  pssBytes: number;
}

const task = JSON.parse(process.argv[2] ?? '{}') as PickerTask;
const isDirect = task.natsServers.length === 0;
const config = pickerConfigShape.parse({
  natsUrl: task.natsServers,
  subjectPrefix: task.subjectPrefix,
  poolSource: 'view',
  poolNetworks: ['10.0.0.0/8'],
  workers: 1,
  tls: false,
  extProcHost: '127.0.0.1',
  extProcPort: 0,
  healthPort: 0,
  adminHost: '127.0.0.1',
  adminPort: 0,
  directHost: '127.0.0.1',
  directPort: isDirect ? 0 : -1,
  logLevel: 'error',
});
const registry = new Registry();
const picker = await startPicker(config, {
  logger: createLogger({ name: 'picker', level: 'error' }),
  registry,
  random: Math.random,
  unixMs: Date.now,
  env: {},
});
const { addresses } = picker;
await waitUntil(() => !isDirect || addresses.direct !== undefined, { what: 'the direct listener' });

async function status(): Promise<PickerStatus> {
  const metric = await registry.getSingleMetric('leadsman_picker_pool_members')?.get();
  const collector = picker.collector.pid ?? -1;
  const serving = [process.pid, picker.workers.pid(0) ?? -1];
  return {
    members: metric?.values[0]?.value ?? 0,
    cpuUs: await sum(serving, cpuUsOf),
    collectorCpuUs: await cpuUsOf(collector),
    rssBytes: await sum([...serving, collector], rssBytesOf),
    pssBytes: await sum([...serving, collector], pssBytesOf),
  };
}

async function sum(pids: readonly number[], of: (pid: number) => Promise<number>): Promise<number> {
  const numbers = await Promise.all(pids.map(of));
  return numbers.reduce((total, number) => total + number, 0);
}

process.on('message', () => void status().then((message) => process.send?.(message)));
process.on('disconnect', () => process.exit(0));
const ready: PickerReady = {
  extProcPort: Number(addresses.ext_proc?.split(':').at(-1)),
  direct: addresses.direct ?? '',
};
process.send?.(ready);
