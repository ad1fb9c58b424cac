/** Entry of the collector service: configuration, logger, start, stop. */
import { createLogger, onShutdown, readConfig, runMain } from '@leadsman/service';
import { collectorConfigShape } from './service/config.ts';
import { startCollector } from './service/start-collector.ts';

await runMain(async () => {
  const config = readConfig(collectorConfigShape, {
    argv: process.argv.slice(2),
    env: process.env,
    name: 'leadsman-collector',
  });
  const logger = createLogger({ name: 'collector', level: config.logLevel });
  const service = await startCollector(config, logger, process.env);
  onShutdown({ logger, stop: () => service.stop(), graceMs: 5_000 });
});
