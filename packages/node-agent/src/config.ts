/** Flags and variables of the node agent. Read once, in main.ts. */
import { paceDefaults } from '@leadsman/scrape';
import {
  adminOptions,
  collectorOptions,
  collectorProblem,
  natsOptions,
  podIdentityOptions,
} from '@leadsman/service';
import * as z from 'zod';
import { batchBoundsDefault } from './batch/bounds.ts';

export const nodeAgentConfigShape = z
  .object({
    // One port serves the sidecars and the people: a hostPort is scarce.
    ...adminOptions(9410),
    ...natsOptions,
    nodeName: podIdentityOptions.nodeName,

    ...collectorOptions,

    flushWindowMs: z
      .number()
      .int()
      .min(1)
      .max(1_000)
      .default(batchBoundsDefault.windowMs)
      .describe('Shortest distance of two batches, and longest wait of a report for others, ms.'),
    targetsMax: z
      .number()
      .int()
      .min(1)
      .max(65_536)
      .default(batchBoundsDefault.targetsMax)
      .describe('Targets of this node at once; more are refused and counted.'),
    verifyPeer: z
      .boolean()
      .default(true)
      .describe('Accept a report only from the address in it; off where the network masks it.'),

    verifyPods: z
      .boolean()
      .default(false)
      .describe(
        'Accept reports only of pods that the API server has on this node, where it has them.',
      ),

    scrapePods: z
      .boolean()
      .default(false)
      .describe('Scrape the annotated or labelled pods of this node that have no sidecar.'),
    scrapeSelector: z
      .string()
      .default('')
      .describe('Label selector of pods to scrape; empty: only annotated ones.'),
    scrapePort: z
      .number()
      .int()
      .min(1)
      .max(65_535)
      .default(8_000)
      .describe('Port of selected pods that name none by annotation.'),
    scrapeIntervalMs: z
      .number()
      .int()
      .min(10)
      // The table forgets a target after a few seconds of silence, and nobody would name it again.
      .max(paceDefaults.intervalMsMax)
      .default(paceDefaults.intervalMs)
      .describe('Shortest distance of two scrapes of one pod, ms.'),
    scrapeByName: z
      .enum(['auto', 'off'])
      .default('auto')
      .describe('auto: series are asked for by name where the engine can do that; off: never.'),
    kubeconfig: z.string().default('').describe('Kubeconfig file; empty: in-cluster account.'),
  })
  .superRefine((config, context) => {
    const message = collectorProblem(config);
    if (message !== '') context.addIssue({ code: 'custom', path: ['collectorTlsCaFile'], message });
  })
  .refine((config) => config.natsUrl.length === 0 || config.collectorUrl.length === 0, {
    path: ['collectorUrl'],
    message: 'choose either NATS or collectors to stream to',
  })
  .refine((config) => config.natsUrl.length > 0 || config.collectorUrl.length > 0, {
    path: ['natsUrl'],
    message: 'neither NATS servers nor collectors (--collector-url) are configured',
  })
  .refine((config) => config.verifyPeer || !config.verifyPods, {
    path: ['verifyPods'],
    message: 'pods are verified by their address: it needs --verify-peer',
  })
  .refine((config) => config.nodeName !== '', {
    path: ['nodeName'],
    message: 'the name of the node is needed',
  });

export type NodeAgentConfig = z.output<typeof nodeAgentConfigShape>;
