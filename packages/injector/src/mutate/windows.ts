/**
 * Whether a pod is for Windows nodes. Few say so by `os`, which is the only field that makes the API
 * server refuse what Linux containers have: a selector alone leaves a pod that waits for ever for an
 * image that its node cannot run.
 */
import type { PodSpec } from './pod.ts';

const osLabels = ['kubernetes.io/os', 'beta.kubernetes.io/os'];

interface Expression {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
}
interface Affinity {
  readonly nodeAffinity?: {
    readonly requiredDuringSchedulingIgnoredDuringExecution?: {
      readonly nodeSelectorTerms?: readonly { readonly matchExpressions?: readonly Expression[] }[];
    };
  };
}

/** By `os`, Windows options of the pod or a container, node selector, or required affinity. */
export function isForWindows(spec: PodSpec | undefined): boolean {
  if (spec === undefined) return false;
  if (spec.os?.name !== undefined) return spec.os.name === 'windows';
  const secured = [spec, ...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  if (secured.some((one) => one.securityContext?.windowsOptions)) return true;
  const selector = spec.nodeSelector as Record<string, string> | undefined;
  if (osLabels.some((label) => selector?.[label] === 'windows')) return true;
  const affinity = (spec.affinity as Affinity | undefined)?.nodeAffinity;
  const terms = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return terms.length > 0 && terms.every((term) => term.matchExpressions?.some(asksForWindows));
}

function asksForWindows({ key = '', operator, values = [] }: Expression): boolean {
  if (!osLabels.includes(key)) return false;
  if (operator === 'In') return values.length > 0 && values.every((value) => value === 'windows');
  return operator === 'NotIn' && values.includes('linux');
}
