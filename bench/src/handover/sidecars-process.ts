/**
 * Entry of the process that runs the sidecars of one node, as many as there are engines. Apart from
 * the watcher of the view, so that their pauses are not taken for its own.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createLogger } from '@leadsman/service';
import { type Sidecar, sidecarConfigShape, startSidecar } from '@leadsman/sidecar';

export interface SidecarsTask {
  /** An engine each. */
  engineUrls: readonly string[];
  agentUrl: string;
  natsUrls: readonly string[];
  intervalMs: number;
}

/** Sidecars by the way their frames take; told whenever a count changes. */
export interface WaysMessage {
  type: 'ways';
  agent: number;
  own: number;
  none: number;
  /** With a transport of their own, used or not. */
  ownOpen: number;
}

/** The answer to `tell`. */
export interface PauseMessage {
  type: 'pause';
  /** Longest time for which this process did nothing else, since the last time it was asked, ms. */
  pauseMs: number;
  /** Frames that no way took since then. */
  droppedFrames: number;
}

export type SidecarsMessage = WaysMessage | PauseMessage;

const lookEveryMs = 5;

const task = JSON.parse(process.argv[2] ?? '{}') as SidecarsTask;

function start(engineUrl: string, index: number): Promise<Sidecar> {
  const config = sidecarConfigShape.parse({
    targets: [`8000=${engineUrl}/metrics`],
    podUid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    podName: `engine-${index}`,
    podNamespace: 'bench',
    podIp: '127.0.0.1',
    nodeName: 'node-a',
    scrapeIntervalMs: task.intervalMs,
    // How often engines are scraped is not the question here; it must not vary with the machine.
    idleIntervalMs: task.intervalMs,
    scrapeShare: 1,
    exporterMode: 'auto',
    agentUrl: task.agentUrl,
    natsUrl: task.natsUrls,
    adminHost: '127.0.0.1',
    adminPort: 0,
  });
  return startSidecar(config, {
    logger: createLogger({ name: 'sidecar', level: 'error' }),
  });
}

const sidecars = await Promise.all(task.engineUrls.map(start));
let told = '';

function look(): void {
  const ways: WaysMessage = { type: 'ways', agent: 0, own: 0, none: 0, ownOpen: 0 };
  for (const { exporter } of sidecars) {
    const { path } = exporter;
    ways[path === 'agent' || path === 'none' ? path : 'own']++;
    if (exporter.ownOpen) ways.ownOpen++;
  }
  const text = JSON.stringify(ways);
  if (text === told) return;
  told = text;
  process.send?.(ways);
}

const delay = monitorEventLoopDelay({ resolution: 2 });
delay.enable();
setInterval(look, lookEveryMs);
let droppedBefore = 0;

process.on('message', () => {
  const dropped = sidecars.reduce((sum, { exporter }) => sum + exporter.counters.droppedFrames, 0);
  const message: PauseMessage = {
    type: 'pause',
    pauseMs: delay.max / 1e6,
    droppedFrames: dropped - droppedBefore,
  };
  droppedBefore = dropped;
  delay.reset();
  process.send?.(message);
});
process.on('disconnect', () => process.exit(0));
