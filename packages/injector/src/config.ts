/** Flags and variables of the injector. Read once, in main.ts. */
import { adminOptions, podIdentityOptions } from '@leadsman/service';
import * as z from 'zod';

export const injectorConfigShape = z.object({
  ...adminOptions(9440),
  podNamespace: podIdentityOptions.podNamespace,
  webhookHost: z.string().default('0.0.0.0').describe('Address of the webhook.'),
  webhookPort: z
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(9443)
    .describe('Port of the webhook (TLS); 0: any.'),
  sidecarFile: z
    .string()
    .min(1, 'the file that describes the sidecar is needed')
    .describe('YAML file: image, environment and resources of injected sidecars.'),
  kubeconfig: z.string().default('').describe('Kubeconfig file; empty: in-cluster account.'),
  serviceName: z
    .string()
    .default('leadsman-injector')
    .describe('Service by which the API server calls; its names are in the certificate.'),
  secretName: z
    .string()
    .default('leadsman-injector-tls')
    .describe('Secret that keeps the self-managed certificate.'),
  webhookName: z
    .string()
    .default('leadsman-injector')
    .describe('MutatingWebhookConfiguration whose caBundle is kept right.'),
  certificateDays: z
    .number()
    .int()
    .min(1)
    .max(3_650)
    .default(90)
    .describe('Life of the self-managed certificate; renewed when two thirds are over.'),
  drainNoticeMs: z
    .number()
    .int()
    .min(0)
    .max(60_000)
    .default(5_000)
    .describe('How long after SIGTERM pods are still reviewed, as API servers notice late.'),
  tlsCertFile: z
    .string()
    .default('')
    .describe('Certificate file (cert-manager); empty: self-managed.'),
  tlsKeyFile: z.string().default('').describe('Key file of that certificate.'),
});

export type InjectorConfig = Readonly<z.output<typeof injectorConfigShape>>;
