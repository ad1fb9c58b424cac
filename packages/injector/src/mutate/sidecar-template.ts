/**
 * How sidecars look in this cluster: the same for all of them, from the chart's ConfigMap or from
 * a file given to `leadsman inject`. What differs from pod to pod comes from its annotations.
 */
import * as z from 'zod';

const quantity = z.string().regex(/^\d+(\.\d+)?(m|k|Ki|Mi|Gi|M|G)?$/, 'not a quantity');
/** Others would be refused with the pod: a sidecar has neither devices nor huge pages. */
const resourceName = z.enum(['cpu', 'memory', 'ephemeral-storage']);
const resources = z
  .strictObject({
    requests: z.partialRecord(resourceName, quantity).default({ cpu: '20m', memory: '96Mi' }),
    // No CPU limit: a throttled scraper is late, and 20m is a rounding error beside an engine.
    limits: z.partialRecord(resourceName, quantity).default({ memory: '192Mi' }),
  })
  .superRefine(({ requests, limits }, context) => {
    for (const [name, request] of Object.entries(requests)) {
      const limit = limits[name as keyof typeof limits];
      if (limit === undefined || quantityValue(request) <= quantityValue(limit)) continue;
      context.addIssue({ code: 'custom', message: `${name}: the request is above the limit` });
    }
  });

export const sidecarTemplateShape = z.strictObject({
  image: z.string().min(1),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  /**
   * What the image's Node runs: one image holds every process. A heap of 10 MB needs neither room to
   * grow nor threads that collect and compile beside it: waking them costs more than they save.
   * docs/sizing.md has what each gains.
   */
  args: z
    .array(z.string())
    .default([
      '--max-semi-space-size=1',
      '--max-old-space-size=64',
      '--single-threaded',
      '/app/sidecar.mjs',
    ]),
  /** Port of the sidecar's own metrics and snapshot. */
  adminPort: z.number().int().min(1).max(65_535).default(9400),
  /** Environment of every sidecar, for example LEADSMAN_NATS_URL. */
  env: z.record(z.string().regex(/^[A-Z_][A-Z0-9_]*$/), z.string()).default({}),
  resources: resources.prefault({}),
  /**
   * User of the sidecar. null leaves it to the cluster (OpenShift assigns one), except where the
   * pod as a whole runs as root: that would contradict runAsNonRoot and block the pod.
   */
  runAsUser: z.number().int().min(1).nullable().default(65_532),
  /**
   * Secret in the pod's own namespace: NATS credentials (`nats.creds`; with LEADSMAN_NATS_USER in
   * `env`, `password`), perhaps a CA (`ca.crt`).
   */
  natsCredentialsSecret: z.string().default(''),
});

export type SidecarTemplate = z.output<typeof sidecarTemplateShape>;

const units: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** What a Kubernetes quantity amounts to; NaN for a text that is none, or of a rarer unit. */
export function quantityValue(quantity: string): number {
  const [, number = '', unit = ''] = /^([\d.]+)([A-Za-z]*)$/.exec(quantity) ?? [];
  return Number(number === '' ? Number.NaN : number) * (units[unit] ?? Number.NaN);
}
