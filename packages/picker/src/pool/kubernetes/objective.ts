/**
 * InferenceObjective: the priority of a kind of requests within a pool. Its CRD may be absent;
 * it moved from one group to another, so both are asked.
 */
import type { KubeObject, Resource } from '@leadsman/kube';

export const inferenceObjectives: readonly Resource[] = [
  { group: 'inference.networking.x-k8s.io', version: 'v1alpha2', plural: 'inferenceobjectives' },
  { group: 'llm-d.ai', version: 'v1alpha2', plural: 'inferenceobjectives' },
];

export interface Objective {
  readonly name: string;
  /** `namespace/name` of the pool, which is in the objective's own namespace. */
  readonly pool: string;
  readonly priority: number;
}

/** The projection for the reflector; undefined when it names no pool. */
export function readObjective(object: KubeObject): Objective | undefined {
  const { metadata, spec } = object as KubeObject & {
    spec?: { priority?: unknown; poolRef?: { name?: unknown } };
  };
  const pool = spec?.poolRef?.name;
  if (typeof pool !== 'string' || pool === '') return undefined;
  const priority = spec?.priority;
  return {
    name: metadata.name,
    pool: `${metadata.namespace ?? ''}/${pool}`,
    // The API says that a missing priority counts as 0.
    priority: typeof priority === 'number' && Number.isFinite(priority) ? priority : 0,
  };
}
