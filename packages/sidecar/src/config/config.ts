/** Flags and variables of the sidecar. Read once, in main.ts. */
import { isIP } from 'node:net';
import {
  gridOfNode,
  type PaceSettings,
  paceDefaults,
  pageBytesMaxDefault,
  scrapeTimeoutMsDefault,
  suspicionDefaults,
} from '@leadsman/scrape';
import {
  adminOptions,
  collectorOptions,
  collectorProblem,
  natsOptions,
  podIdentityOptions,
} from '@leadsman/service';
import * as z from 'zod';

const targetPattern = /^(\d{1,5})=(https?:\/\/\S+)$/;
const port = z.coerce.number().int().min(1).max(65_535);

/** Serving ports of one pod; data-parallel servers have one per accelerator at most. */
const targetsMax = 16;

export const sidecarConfigShape = z
  .object({
    ...adminOptions(9400),
    ...natsOptions,
    ...podIdentityOptions,

    targets: z
      .array(z.string().regex(targetPattern, 'not of the form 8000=http://127.0.0.1:8000/metrics'))
      .max(targetsMax)
      .default([])
      .describe('Serving port and page of each engine, PORT=URL; wins over the engine-… flags.'),
    enginePorts: z
      .array(port)
      .min(1)
      .max(targetsMax)
      .default([8_000])
      .describe('Ports that serve requests and the page, one per engine of the pod.'),
    engineHost: z.string().min(1).default('127.0.0.1').describe('Where the engines listen.'),
    engineScheme: z.enum(['http', 'https']).default('http').describe('Scheme of the page.'),
    enginePath: z
      .string()
      .startsWith('/')
      .default('/')
      .describe("Path of the page; '/': the engine's own."),
    engine: z.string().min(1).default('auto').describe('Engine profile; auto: found by the page.'),
    engineMappingFile: z.string().default('').describe('YAML file with a custom mapping.'),
    tokenFile: z.string().default('').describe('File with a bearer token for the page.'),
    engineTlsCaFile: z.string().default('').describe('CA of the page when it is https.'),
    engineTlsVerify: z.boolean().default(true).describe('Check the certificate of the page.'),

    scrapeIntervalMs: z
      .number()
      .min(5)
      .max(paceDefaults.intervalMsMax)
      .default(paceDefaults.intervalMs)
      .describe('Wanted time between two scrapes, ms.'),
    idleIntervalMs: z
      .number()
      .min(5)
      .max(paceDefaults.intervalMsMax)
      .default(paceDefaults.idleIntervalMs)
      .describe('Longest time between two scrapes of an idle engine, ms.'),
    scrapeShare: z
      .number()
      .min(0.001)
      .max(1)
      .default(paceDefaults.share)
      .describe("Largest share of the engine's time that scraping may take."),
    scrapeByName: z
      .enum(['auto', 'off'])
      .default('auto')
      .describe('auto: series are asked for by name where the engine can do that; off: never.'),
    scrapeTimeoutMs: z
      .number()
      .min(10)
      .max(60_000)
      .default(scrapeTimeoutMsDefault)
      .describe('Deadline of a scrape, body included, ms.'),
    pageBytesMax: z
      .number()
      .int()
      .min(1_024)
      .max(268_435_456)
      .default(pageBytesMaxDefault)
      .describe('Largest page, bytes.'),
    suspectAfterScrapes: z
      .number()
      .int()
      .min(2)
      .default(suspicionDefaults.scrapes)
      .describe('Scrapes without progress before claimed work is suspect.'),
    suspectAfterMs: z
      .number()
      .min(0)
      .default(suspicionDefaults.forMs)
      .describe('Time without progress before claimed work is suspect, ms.'),

    exporterMode: z
      .enum(['auto', 'pod', 'node'])
      .default('auto')
      .describe(
        'pod: publish; node: hand reports to the agent; auto: to the agent if it is there.',
      ),
    agentPort: port.default(9_410).describe("Port of the node's agent."),
    agentUrl: z.string().default('').describe('URL of the agent; empty: host IP and agent port.'),
    localAddress: z.string().default('').describe('Address to connect from; empty: any.'),
    ...collectorOptions,
  })
  .refine(({ podIp }) => podIp === '' || (isIP(podIp) !== 0 && !podIp.includes('%')), {
    path: ['podIp'],
    message: 'not an IP address',
  })
  .refine((config) => targetsOf(config).every(isUsable), {
    path: ['targets'],
    message: 'a serving port is out of range, or a page has no usable URL',
  })
  .superRefine((config, context) => {
    const message = collectorProblem(config);
    if (message !== '') context.addIssue({ code: 'custom', path: ['collectorTlsCaFile'], message });
  })
  .refine((config) => config.natsUrl.length === 0 || config.collectorUrl.length === 0, {
    path: ['collectorUrl'],
    message: 'choose either NATS or collectors to stream to',
  })
  .refine(({ agentUrl }) => agentUrl === '' || /^http:\/\/[^/]+\/?$/.test(agentUrl), {
    path: ['agentUrl'],
    message: 'not of the form http://host:port',
  })
  .refine((config) => config.exporterMode !== 'node' || agentUrlOf(config) !== '', {
    path: ['hostIp'],
    message: 'exporter mode node needs the host IP or the URL of the agent',
  })
  .refine((config) => !hasDuplicates(targetsOf(config).map((target) => target.port)), {
    path: ['targets'],
    message: 'two targets have the same serving port',
  });

export type SidecarConfig = z.output<typeof sidecarConfigShape>;

/** The settings that say what is scraped. */
interface TargetSettings {
  targets: readonly string[];
  enginePorts: readonly number[];
  engineHost: string;
  engineScheme: string;
  enginePath: string;
}

/** The settings that say where the agent is. */
interface AgentSettings {
  agentUrl: string;
  hostIp: string;
  agentPort: number;
}

/** Serving port and URL of the page, one per target. */
export function targetsOf(config: TargetSettings): { port: number; url: string }[] {
  if (config.targets.length > 0) {
    return config.targets.map((text) => {
      const [, servingPort = '', url = ''] = targetPattern.exec(text) ?? [];
      return { port: Number(servingPort), url };
    });
  }
  const host = config.engineHost.includes(':') ? `[${config.engineHost}]` : config.engineHost;
  return config.enginePorts.map((servingPort) => ({
    port: servingPort,
    url: `${config.engineScheme}://${host}:${servingPort}${config.enginePath}`,
  }));
}

/** The settings that say when is scraped. */
interface PaceConfig {
  scrapeIntervalMs: number;
  idleIntervalMs: number;
  scrapeShare: number;
  nodeName: string;
}

/** When to scrape: in step with the other sidecars of the node, if its name is known. */
export function paceOf(config: PaceConfig): PaceSettings {
  const { scrapeIntervalMs: intervalMs, idleIntervalMs, scrapeShare: share } = config;
  const { intervalMsMax } = paceDefaults;
  const grid = gridOfNode(config.nodeName, intervalMs);
  return { intervalMs, idleIntervalMs, intervalMsMax, share, grid };
}

/** The agent's URL, or empty when there can be none. */
export function agentUrlOf(config: AgentSettings): string {
  if (config.agentUrl !== '') return config.agentUrl;
  if (config.hostIp === '') return '';
  const host = config.hostIp.includes(':') ? `[${config.hostIp}]` : config.hostIp;
  return `http://${host}:${config.agentPort}`;
}

function isUsable(target: { port: number; url: string }): boolean {
  return target.port >= 1 && target.port <= 65_535 && URL.canParse(target.url);
}

function hasDuplicates(ports: readonly number[]): boolean {
  return new Set(ports).size !== ports.length;
}
