/**
 * How sidecars look in this cluster: the same for all of them, from the chart's ConfigMap or from
 * a file given to `leadsman inject`. What differs from pod to pod comes from its annotations.
 */
import { z } from 'zod';

const quantity = z.string().regex(/^\d+(\.\d+)?(m|k|Ki|Mi|Gi|M|G)?$/, 'not a quantity');

export const sidecarTemplateShape = z.strictObject({
  image: z.string().min(1),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  /**
   * What the image's Node runs: one image holds every process. The small young generation and the
   * cap of the old one save 14 of 107 MB in a sidecar that scrapes 20 times a second, at the same
   * CPU (npm run bench -- footprint).
   */
  args: z
    .array(z.string())
    .default(['--max-semi-space-size=1', '--max-old-space-size=64', '/app/sidecar.mjs']),
  /** Port of the sidecar's own metrics and snapshot. */
  adminPort: z.number().int().min(1).max(65_535).default(9400),
  /** Environment of every sidecar, for example LEADSMAN_NATS_URL. */
  env: z.record(z.string().regex(/^[A-Z_][A-Z0-9_]*$/), z.string()).default({}),
  resources: z
    .strictObject({
      requests: z.record(z.string(), quantity).default({ cpu: '20m', memory: '96Mi' }),
      // No CPU limit: a throttled scraper is late, and 20m is a rounding error beside an engine.
      limits: z.record(z.string(), quantity).default({ memory: '192Mi' }),
    })
    .prefault({}),
  /**
   * User of the sidecar. null leaves it to the cluster (OpenShift assigns one), except where the
   * pod as a whole runs as root: that would contradict runAsNonRoot and block the pod.
   */
  runAsUser: z.number().int().min(1).nullable().default(65_532),
  /** Secret in the pod's own namespace: NATS credentials (`nats.creds`), perhaps a CA (`ca.crt`). */
  natsCredentialsSecret: z.string().default(''),
});

export type SidecarTemplate = z.output<typeof sidecarTemplateShape>;
