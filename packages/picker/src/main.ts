/** Entry of the picker process: reads its configuration, starts, and stops on a signal. */
import { ConfigError, createLogger, onShutdown, readConfig, runMain } from '@leadsman/service';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { contradictions } from './config/contradictions.ts';
import { pickerConfigShape } from './config/picker-config.ts';
import { startPicker } from './start-picker.ts';

/** Added to the drain before a stop that hangs is cut off, ms. */
const stopSlackMs = 10_000;

await runMain(async () => {
  const config = readConfig(pickerConfigShape, {
    argv: process.argv.slice(2),
    env: process.env,
    name: 'leadsman-picker',
  });
  const problems = contradictions(config);
  if (problems.length > 0) throw new ConfigError(problems);
  const logger = createLogger({ name: 'picker', level: config.logLevel });
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const picker = await startPicker(config, {
    logger,
    registry,
    random: Math.random,
    unixMs: Date.now,
    env: process.env,
  });
  const graceMs = config.drainGraceMs + stopSlackMs;
  onShutdown({ logger, graceMs, stop: () => picker.stop() });
});
