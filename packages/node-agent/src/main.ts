/** The node agent: one per node, takes its pods' reports and sends them on in batches. */
import { createLogger, onShutdown, readConfig, runMain } from '@leadsman/service';
import { nodeAgentConfigShape } from './config.ts';
import { startNodeAgent } from './start.ts';

await runMain(async () => {
  const config = readConfig(nodeAgentConfigShape, {
    argv: process.argv.slice(2),
    env: process.env,
    name: 'leadsman-node-agent',
  });
  const logger = createLogger({ name: 'node-agent', level: config.logLevel });
  const agent = await startNodeAgent(config, { logger, env: process.env });
  onShutdown({ logger, stop: () => agent.stop(), graceMs: 5_000 });
});
