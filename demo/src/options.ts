/** What the demo can be told. */
import { parseArgs } from 'node:util';
import type { RigTransport } from '@leadsman/testing';

export interface DemoOptions {
  /** Runs without a terminal, short, and fails on any failed request. */
  check: boolean;
  /** Prints one object instead of text. */
  json: boolean;
  transport: RigTransport;
  /** Traffic under each strategy. */
  phaseMs: number;
  requestsPerSecond: number;
  scrapeIntervalMs: number;
  /** Speed of the engine that is slowed on purpose; the others run at 1. */
  slowedSpeed: number;
  seed: number;
}

export const demoHelp = `Usage: npm run demo -- [flags]

Two nodes of four simulated engines, a sidecar each, an agent per node, NATS, the picker and Envoy,
all real processes on this machine. The same chat traffic runs twice, first with picks at random,
then by load; one engine is slow on purpose.

  --check              about 20 s without a terminal; exit code 1 when a request failed
  --json               print one JSON object at the end (progress goes to stderr)
  --transport NAME     nats (default), or direct: no broker, agents stream to the picker
  --seconds N          traffic under each strategy (default 10; with --check 5)
  --rate N             requests per second (default 50)
  --scrape-interval N  pace of the sidecars in ms (default 100: ten processes share this
                       machine with the engines; on a node of its own a sidecar takes 50)
  --slowed-speed N     speed of the slowed engine, 1 is normal (default 0.2)
  --seed N             other arrivals and sizes (default 1)
`;

/** Thrown for flags that cannot be used; the message is for people. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError';
}

/** Reads flags; `undefined` when help is asked for. Throws {@link OptionsError}. */
export function readOptions(argv: readonly string[]): DemoOptions | undefined {
  const values = parse(argv);
  if (values.help === true) return undefined;
  const check = values.check === true;
  const transport = values.transport ?? 'nats';
  if (transport !== 'nats' && transport !== 'direct') {
    throw new OptionsError(`--transport is nats or direct, not ${transport}`);
  }
  return {
    check,
    json: values.json === true,
    transport,
    phaseMs: number(values.seconds, 'seconds', check ? 5 : 10, 1, 3600) * 1000,
    requestsPerSecond: number(values.rate, 'rate', 50, 1, 500),
    scrapeIntervalMs: number(values['scrape-interval'], 'scrape-interval', 100, 5, 1000),
    slowedSpeed: number(values['slowed-speed'], 'slowed-speed', 0.2, 0.05, 1),
    seed: number(values.seed, 'seed', 1, 0, Number.MAX_SAFE_INTEGER),
  };
}

function parse(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  const yes = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: [...argv],
      options: {
        check: yes,
        json: yes,
        help: yes,
        transport: text,
        seconds: text,
        rate: text,
        'scrape-interval': text,
        'slowed-speed': text,
        seed: text,
      },
    }).values;
  } catch (error) {
    throw new OptionsError((error as Error).message);
  }
}

function number(
  text: string | undefined,
  name: string,
  fallback: number,
  least: number,
  most: number,
): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!(value >= least && value <= most)) {
    throw new OptionsError(`--${name} is a number from ${least} to ${most}, not ${text}`);
  }
  return value;
}
