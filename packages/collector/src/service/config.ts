/** Flags and variables of the collector service. */
import {
  adminOptions,
  askerOptions,
  callerOptions,
  listenerProblem,
  natsOptions,
} from '@leadsman/service';
import { slotsLimit } from '@leadsman/view/layout';
import { staleAfterMsDefault } from '@leadsman/view/trust';
import * as z from 'zod';
import { expireAfterMsDefault } from '../ingest/fleet.ts';

const milliseconds = (least: number, most: number) => z.number().int().min(least).max(most);

export const collectorConfigShape = z
  .object({
    ...adminOptions(9420),
    ...askerOptions,
    ...natsOptions,

    grpcHost: z.string().default('0.0.0.0').describe('Address of the frame and watch server.'),
    grpcPort: z
      .number()
      .int()
      .min(0)
      .max(65_535)
      .default(9421)
      .describe('Port on which senders push frames and pickers watch the view; 0: any.'),
    grpcTlsCertFile: z
      .string()
      .default('')
      .describe('Certificate of that port; empty: plain text.'),
    grpcTlsKeyFile: z.string().default('').describe('Key of the certificate.'),
    grpcTlsClientCaFile: z.string().default('').describe('Clients must show a certificate of it.'),

    ...callerOptions,
    kubeconfig: z.string().default('').describe('Kubeconfig file; empty: in-cluster account.'),

    endpointsMax: z
      .number()
      .int()
      .min(1)
      .max(slotsLimit)
      .default(16_384)
      .describe('Endpoints known at most; memory is used only for those that exist.'),
    staleAfterMs: milliseconds(100, 600_000)
      .default(staleAfterMsDefault)
      .describe('Age from which numbers are shown as stale.'),
    expireAfterMs: milliseconds(1_000, 3_600_000)
      .default(expireAfterMsDefault)
      .describe('Silence after which an endpoint leaves the view.'),
    watchIntervalMs: milliseconds(10, 1_000)
      .default(20)
      .describe('Distance of two frames for watchers that do not ask for another.'),
    watchersMax: z.number().int().min(0).max(10_000).default(256).describe('Watchers at once.'),
    endpointMetrics: z
      .boolean()
      .default(false)
      .describe('Show gauges of every endpoint on /metrics (about 6 series each).'),
  })
  .superRefine((config, context) => {
    const message = listenerProblem({
      certFile: config.grpcTlsCertFile,
      keyFile: config.grpcTlsKeyFile,
      clientCaFile: config.grpcTlsClientCaFile,
      tokenFile: config.callerTokenFile,
      tokenAudience: config.callerTokenAudience,
    });
    if (message !== '') context.addIssue({ code: 'custom', path: ['grpcTlsKeyFile'], message });
  })
  .refine((config) => config.expireAfterMs >= config.staleAfterMs, {
    path: ['expireAfterMs'],
    message: 'endpoints would leave before they are stale: raise it above --stale-after-ms',
  });

export type CollectorConfig = Readonly<z.output<typeof collectorConfigShape>>;
