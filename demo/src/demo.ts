/**
 * The demo from start to end: the rig, the same traffic under two strategies, the comparison.
 */
import { quantile, Rig, waitUntil } from '@leadsman/testing';
import { FleetWatch } from './fleet-watch.ts';
import type { DemoOptions } from './options.ts';
import { Phase, trafficPlan } from './phase.ts';
import type { Screen } from './screen.ts';
import { type DemoResult, summarize } from './summary.ts';
import type { TableState } from './table.ts';

const nodes = 2;
const podsPerNode = 4;
/** Of the pods' positions: on the first node, in the middle of the table. */
const slowedPod = 2;
const strategies = ['random', 'least-load'] as const;

/**
 * A small, busy engine: four requests at once, some 15 ms a step. So few that a laptop's traffic
 * fills it, as the traffic of a cluster fills a real one.
 */
const engineParameters = {
  stepBaseMs: 12,
  stepPerSequenceMs: 0.4,
  prefillTokensPerSecond: 8_000,
  runningMax: 4,
  kvCapacityTokens: 2_400,
};

export interface DemoRun {
  result: DemoResult;
  failures: readonly string[];
}

/** Runs it all. Stops what it started, also when it fails or `signal` aborts. */
export async function runDemo(
  options: DemoOptions,
  screen: Screen,
  now: () => number,
  signal: AbortSignal,
): Promise<DemoRun> {
  const rig = await Rig.start({
    nodes,
    podsPerNode,
    transport: options.transport,
    scrapeIntervalMs: options.scrapeIntervalMs,
    // Two tokens per event halve the work of everything but the picker.
    engine: { parameters: engineParameters, streamTokens: 2 },
    strategy: strategies[0],
    pickerFlags: { workers: 1 },
    signal,
    onStep: (text) => screen.step(text),
  });
  const watch = new FleetWatch(() => rig.picker!.adminUrl, rig.engines);
  try {
    return await new Demo({ options, screen, now, signal, rig, watch }).run();
  } finally {
    watch.stop();
    screen.settle();
    await rig.stop();
  }
}

interface DemoParts {
  options: DemoOptions;
  screen: Screen;
  now: () => number;
  signal: AbortSignal;
  rig: Rig;
  watch: FleetWatch;
}

class Demo {
  readonly #parts: DemoParts;
  readonly #phases: Phase[] = [];
  readonly #slowed: string;
  readonly #versions: DemoResult['versions'];

  constructor(parts: DemoParts) {
    this.#parts = parts;
    const { rig } = parts;
    this.#slowed = rig.endpointOf(rig.pods[slowedPod]!);
    this.#versions = {
      envoy: rig.envoy!.version,
      nats: rig.nats?.version ?? null,
      node: process.versions.node,
    };
  }

  async run(): Promise<DemoRun> {
    const { options, rig, watch, screen, signal } = this.#parts;
    rig.engines.engines[slowedPod]!.setSpeed(options.slowedSpeed);
    await this.#waitForView();
    watch.start(() => this.#show());
    for (const strategy of strategies) {
      if (signal.aborted) break;
      await this.#runPhase(strategy);
    }
    screen.settle();
    const { engines } = await rig.engines.state();
    const result = summarize({
      phases: this.#phases,
      ages: watch.ages,
      engines: rig.engines,
      nodes,
      slowed: { endpoint: this.#slowed, speed: options.slowedSpeed },
      scrapeIntervalMs: options.scrapeIntervalMs,
      foreignScrapes: engines.reduce((sum, engine) => sum + engine.foreignScrapes, 0),
      transport: options.transport,
      versions: this.#versions,
    });
    return { result, failures: this.#phases.flatMap((phase) => phase.failures) };
  }

  async #runPhase(strategy: string): Promise<void> {
    const { options, rig, watch, now, signal } = this.#parts;
    await rig.setStrategy(strategy);
    await this.#waitForView();
    if (signal.aborted) return;
    await watch.beginPhase();
    const phase = new Phase(strategy);
    this.#phases.push(phase);
    await phase.run(rig.gatewayUrl, trafficPlan(options), now, signal);
    watch.endPhase();
    if (signal.aborted) return;
    await watch.look();
    phase.picks = watch.picks;
  }

  /** All endpoints fresh: neither strategy shall begin with less knowledge than the other. */
  async #waitForView(): Promise<void> {
    const { watch, rig, signal } = this.#parts;
    await waitUntil(
      async () => {
        if (signal.aborted) return true;
        await watch.look();
        return watch.rows.every((row) => row.state === 'fresh');
      },
      {
        what: 'a fresh report of every engine',
        deadlineMs: 60_000,
        describe: () => `${JSON.stringify(watch.rows)}\n${rig.picker?.process.output() ?? ''}`,
      },
    );
  }

  #show(): void {
    const phase = this.#phases.at(-1);
    if (phase !== undefined) this.#parts.screen.show(this.#state(phase));
  }

  #state(phase: Phase): TableState {
    const { options, watch, now } = this.#parts;
    const { envoy, nats, node } = this.#versions;
    const broker = nats === null ? 'direct, no broker' : `NATS ${nats}`;
    return {
      title:
        `Leadsman  ${nodes} nodes · ${nodes * podsPerNode} engines · ` +
        `Envoy ${envoy} · ${broker} · Node ${node}`,
      phase: `Phase ${this.#phases.length} of ${strategies.length}`,
      strategy: phase.strategy,
      progress: Math.min(1, (now() - phase.startedMs) / options.phaseMs),
      rows: watch.rows,
      slowed: this.#slowed,
      slowedSpeed: options.slowedSpeed,
      sent: phase.sent,
      done: phase.done,
      failed: phase.failures.length,
      firstTokenMs: { p50: phase.firstTokenMs(0.5), p99: phase.firstTokenMs(0.99) },
      freshnessMs: { p50: quantile(watch.ages, 0.5), p99: quantile(watch.ages, 0.99) },
    };
  }
}
