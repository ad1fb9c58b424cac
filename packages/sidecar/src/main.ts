/** The sidecar: scrapes its own pod's engine and sends what it says. */
import { createLogger, onShutdown, readConfig, runMain } from '@leadsman/service';
import { sidecarConfigShape } from './config.ts';
import { startSidecar } from './start-sidecar.ts';

await runMain(async () => {
  const config = readConfig(sidecarConfigShape, {
    argv: process.argv.slice(2),
    env: process.env,
    name: 'leadsman-sidecar',
  });
  const logger = createLogger({ name: 'sidecar', level: config.logLevel });
  const sidecar = await startSidecar(config, { logger });
  onShutdown({ logger, stop: () => sidecar.stop(), graceMs: 3_000 });
});
