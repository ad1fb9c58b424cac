/**
 * Entry of the process that is a picker: the real one, with one ext_proc thread, that reads the
 * fleet's feed by its own collector and takes every endpoint of its view for a member of its pool.
 */
import { pickerConfigShape, startPicker } from '@leadsman/picker';
import { createLogger } from '@leadsman/service';
import { waitUntil } from '@leadsman/testing';
import { Registry } from 'prom-client';

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
  /** µs, without the collector's thread. */
  cpuUs: number;
  collectorCpuUs: number;
  rssBytes: number;
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
  const collector = await picker.collector.thread.cpuUsage();
  const collectorCpuUs = collector.user + collector.system;
  const cpu = process.cpuUsage();
  return {
    members: metric?.values[0]?.value ?? 0,
    cpuUs: cpu.user + cpu.system - collectorCpuUs,
    collectorCpuUs,
    rssBytes: process.memoryUsage.rss(),
  };
}

process.on('message', () => void status().then((message) => process.send?.(message)));
process.on('disconnect', () => process.exit(0));
const ready: PickerReady = {
  extProcPort: Number(addresses.ext_proc?.split(':').at(-1)),
  direct: addresses.direct ?? '',
};
process.send?.(ready);
