/** The sidecar: scrapes its own pod's engine and sends what it says. */
import { networkInterfaces } from 'node:os';
import { createLogger, HelpRequested, onShutdown, readConfig, runMain } from '@leadsman/service';
import { sidecarConfigShape } from './config/config.ts';
import { startSidecar } from './start-sidecar.ts';
import { stayIdle } from './stay-idle.ts';

async function start(): Promise<void> {
  const config = readConfig(sidecarConfigShape, {
    argv: process.argv.slice(2),
    env: process.env,
    name: 'leadsman-sidecar',
  });
  const logger = createLogger({ name: 'sidecar', level: config.logLevel });
  const sidecar = await startSidecar(config, { logger, interfaces: networkInterfaces() });
  onShutdown({ logger, stop: () => sidecar.stop(), graceMs: 3_000 });
}

await runMain(async () => {
  try {
    await start();
  } catch (error) {
    // By hand, a fault should end the command; in a pod, it must not end the container.
    const isInPod = Boolean(process.env.LEADSMAN_POD_UID);
    if (!isInPod || error instanceof HelpRequested) throw error;
    await stayIdle(error, createLogger({ name: 'sidecar', level: 'info' }));
  }
});
