/**
 * The second measurement of a run with `--ext-proc`: the same fleet, while a picker answers
 * exchanges. What it says of freshness is to be compared with the first, without them.
 */
import { waitUntil } from '@leadsman/testing';
import type { FleetOptions } from './options.ts';
import { measurePhase, type Phase, rounded } from './phase.ts';
import type { PickerUnderLoad } from './picker-under-load.ts';
import type { FleetSystem } from './system.ts';

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export async function measureExtProc(
  system: FleetSystem,
  picker: PickerUnderLoad,
  options: FleetOptions,
  /** The first measurement: the picker was there and had nothing to answer. */
  idle: Phase,
) {
  const pods = options.plan.nodes * options.plan.podsPerNode;
  await waitUntil(async () => (await picker.status()).members === pods, {
    what: 'the picker to know every pod',
    deadlineMs: 30_000,
  });
  await picker.beginLoad(options.extProcPerS);
  // Compiling belongs to the start.
  await sleep(Math.min(3_000, options.measureMs));
  picker.measureLoad();
  const phase = await measurePhase(system, options.measureMs);
  const load = await picker.endLoad();
  const cpu = pickerCpu(phase);
  return {
    rps: options.extProcPerS,
    done: load.done,
    failed: load.failed,
    p50_ms: load.p50Ms,
    p99_ms: load.p99Ms,
    cpu_us_per_exchange: rounded(cpu.servingUs / (load.done + load.failed), 1),
    picker_cores: {
      serving: cpu.servingCores,
      serving_nothing: pickerCpu(idle).servingCores,
      collector: cpu.collectorCores,
    },
    picker_memory_mb: Math.round((phase.after.picker?.rssBytes ?? 0) / 1e6),
    picker_pss_mb: Math.round((phase.after.picker?.pssBytes ?? 0) / 1e6),
    freshness_ms: phase.freshness_ms,
    late: phase.late,
  };
}

/** Of the whole process without the collector's thread, and of that. */
function pickerCpu({ before, after }: Phase) {
  const seconds = (after.atMs - before.atMs) / 1_000;
  const servingUs = (after.picker?.cpuUs ?? 0) - (before.picker?.cpuUs ?? 0);
  const collectorUs = (after.picker?.collectorCpuUs ?? 0) - (before.picker?.collectorCpuUs ?? 0);
  return {
    servingUs,
    servingCores: rounded(servingUs / 1e6 / seconds),
    collectorCores: rounded(collectorUs / 1e6 / seconds),
  };
}
