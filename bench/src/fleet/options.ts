/** Arguments of `npm run bench -- fleet`. */
import { parseArgs } from 'node:util';
import type { BenchOptions } from '../main.ts';
import type { Exporter } from './messages.ts';
import type { FleetPlan } from './plan.ts';

/** Default distance of two scrapes, ms. */
export const fullIntervalMs = 50;

export interface FleetOptions {
  plan: FleetPlan;
  /** Whether the interval follows from the size, not from `--interval-ms`. */
  intervalIsOurs: boolean;
  exporter: Exporter;
  transport: 'nats' | 'direct';
  windowMs: number;
  measureMs: number;
  rolling: boolean;
  /** ext_proc exchanges per second in a second measurement; 0: without. */
  extProcPerS: number;
  /** `undefined`: without the baseline. */
  polling: { measureMs: number; podsMax: number } | undefined;
}

/**
 * Reports per second that the sender process can make on one of two cores with some margin. A
 * larger fleet reports less often, and the result says so.
 */
const reportsPerSMax = 20_000;

export function fleetOptions({ args, smoke }: BenchOptions): FleetOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: { type: 'string', default: smoke ? '4' : '100' },
      'pods-per-node': { type: 'string', default: smoke ? '5' : '10' },
      'interval-ms': { type: 'string' },
      'scrape-ms': { type: 'string', default: '5' },
      'window-ms': { type: 'string', default: '10' },
      seconds: { type: 'string', default: smoke ? '0.7' : '20' },
      exporter: { type: 'string', default: 'node' },
      transport: { type: 'string', default: 'nats' },
      rolling: { type: 'boolean', default: false },
      'ext-proc': { type: 'string', default: '0' },
      'no-polling': { type: 'boolean', default: false },
    },
  });
  const nodes = positive('nodes', values.nodes);
  const podsPerNode = positive('pods-per-node', values['pods-per-node']);
  const pods = nodes * podsPerNode;
  const affordableMs = Math.max(fullIntervalMs, Math.ceil((pods * 1_000) / reportsPerSMax));
  const interval = values['interval-ms'];
  const intervalMs = interval === undefined ? affordableMs : positive('interval-ms', interval);
  return {
    intervalIsOurs: interval === undefined,
    plan: {
      nodes,
      podsPerNode,
      intervalMs,
      scrapeMs: positive('scrape-ms', values['scrape-ms']),
      changeMs: 24.7,
    },
    exporter: oneOf('exporter', values.exporter, ['node', 'pod']),
    transport: oneOf('transport', values.transport, ['nats', 'direct']),
    windowMs: positive('window-ms', values['window-ms']),
    measureMs: positive('seconds', values.seconds) * 1_000,
    rolling: values.rolling,
    extProcPerS: values['ext-proc'] === '0' ? 0 : positive('ext-proc', values['ext-proc']),
    polling: values['no-polling']
      ? undefined
      : smoke
        ? { measureMs: 300, podsMax: 5 }
        : { measureMs: 2_000, podsMax: 320 },
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new RangeError(`--${name} must be a number above 0`);
  return value;
}

function oneOf<T extends string>(name: string, text: string, known: readonly T[]): T {
  const value = known.find((option) => option === text);
  if (value === undefined) throw new RangeError(`--${name} must be one of ${known.join(', ')}`);
  return value;
}
