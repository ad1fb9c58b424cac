/** The injector process: reads its configuration and starts the parts. */
import { readFile } from 'node:fs/promises';
import { KubeClient, openAccess } from '@leadsman/kube';
import { createLogger, onShutdown, pause, readConfig, runMain } from '@leadsman/service';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { parse } from 'yaml';
import { injectorConfigShape } from './config.ts';
import { readSidecarTemplate } from './mutate/read-template.ts';
import { startInjector } from './start.ts';

/** After the notice: the API server waits at most 5 s for an answer; those in flight get as long. */
const graceMs = 8_000;

await runMain(async () => {
  const config = readConfig(injectorConfigShape, {
    argv: process.argv.slice(2),
    env: process.env,
    name: 'leadsman-injector',
  });
  const logger = createLogger({ name: 'injector', level: config.logLevel });
  const text = await readFile(config.sidecarFile, 'utf8');
  const template = readSidecarTemplate(parse(text), config.sidecarFile);
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const access = await openAccess({ kubeconfigFile: config.kubeconfig, env: process.env });
  const injector = await startInjector(config, {
    client: new KubeClient(access),
    template,
    logger,
    registry,
    random: Math.random,
    nowMs: Date.now,
    delay: pause,
  });
  onShutdown({ logger, stop: () => injector.stop(), graceMs: config.drainNoticeMs + graceMs });
});
