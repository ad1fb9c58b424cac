/**
 * Adds the sidecar to a pod. Pure, and a fixed point: the result, given back, is unchanged, also
 * after other webhooks have changed it, because what is already there by its name is never
 * touched. The input is not modified.
 */
import { injectLabel, podTarget, sidecarName } from '@leadsman/kube';
import type { Pod, PodSpec } from './pod.ts';
import { type SidecarTarget, sidecarContainer, sidecarVolumes } from './sidecar-container.ts';
import type { SidecarTemplate } from './sidecar-template.ts';
import { tokenAccess } from './token-mount.ts';
import { isForWindows } from './windows.ts';

/** Tells people and dashboards that the sidecar came from here. */
export const injectedAnnotation = 'leadsman.dev/injected';

/** Label by which network policies know the pods that may feed numbers. */
const sidecarLabel = 'leadsman.dev/sidecar';

export interface MutateOptions {
  readonly template: SidecarTemplate;
  /** Ports of the InferencePool that selects the pod, for a pod that names none itself. */
  readonly poolPorts?: readonly number[];
}

/** Why a pod is left as it is; label values of a counter. */
export type SkipReason =
  | 'present'
  | 'opted_out'
  | 'host_network'
  | 'windows'
  | 'static'
  | 'no_container';

/** Of the object by which a kubelet shows a pod of its own: nothing is run from it. */
const mirrorAnnotation = 'kubernetes.io/config.mirror';

export type MutateResult =
  | { readonly injected: true; readonly pod: Pod; readonly faults: readonly string[] }
  | { readonly injected: false; readonly pod: Pod; readonly reason: SkipReason };

/** Whether the pod has a sidecar, injected or written by hand. */
function hasSidecar(spec: PodSpec | undefined): boolean {
  const isOurs = (container: { name: string }) => container.name === sidecarName;
  return spec?.initContainers?.some(isOurs) === true || spec?.containers?.some(isOurs) === true;
}

/** The pod with a sidecar, or the same pod and why it gets none. */
export function mutatePod(pod: Pod, options: MutateOptions): MutateResult {
  const skip = whyNot(pod);
  if (skip !== undefined) return { injected: false, pod, reason: skip };
  const { faults: misread, ...said } = podTarget(pod.metadata?.annotations);
  const token = tokenAccess(pod, said.tokenFile);
  const faults = token.fault === '' ? misread : [...misread, token.fault];
  const target: SidecarTarget = {
    ...said,
    tokenFile: token.file,
    ports: portsOf(pod, said.ports, options.poolPorts ?? []),
  };
  const spec = pod.spec ?? {};
  const known = new Set((spec.volumes ?? []).map((volume) => volume.name));
  const volumes = sidecarVolumes(options.template).filter((volume) => !known.has(volume.name));
  return {
    injected: true,
    faults,
    pod: {
      ...pod,
      metadata: {
        ...pod.metadata,
        labels: { ...pod.metadata?.labels, [sidecarLabel]: 'true' },
        annotations: { ...pod.metadata?.annotations, [injectedAnnotation]: 'sidecar' },
      },
      spec: {
        ...spec,
        // Last, so that downloads and the like run first and their order stays as it was.
        initContainers: [
          ...(spec.initContainers ?? []),
          sidecarContainer(pod, options.template, target, token.mount),
        ],
        ...(volumes.length === 0 ? {} : { volumes: [...(spec.volumes ?? []), ...volumes] }),
      },
    },
  };
}

function whyNot(pod: Pod): SkipReason | undefined {
  if (pod.metadata?.labels?.[injectLabel] === 'false') return 'opted_out';
  if (hasSidecar(pod.spec)) return 'present';
  // All host-network pods of a node share one port table: the sidecar's port would be taken by
  // the first. Such pods are scraped by the node agent instead.
  if (pod.spec?.hostNetwork === true) return 'host_network';
  if (isForWindows(pod.spec)) return 'windows';
  if (pod.metadata?.annotations?.[mirrorAnnotation] !== undefined) return 'static';
  return (pod.spec?.containers ?? []).length === 0 ? 'no_container' : undefined;
}

/**
 * The pod's own word, else the pool's, else the container ports: the one called `http` or
 * `metrics`, or the first. None: the sidecar's own default.
 */
function portsOf(
  pod: Pod,
  said: readonly number[],
  poolPorts: readonly number[],
): readonly number[] {
  if (said.length > 0) return said;
  if (poolPorts.length > 0) return poolPorts;
  const declared = (pod.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  const named = declared.find((port) => /^(http|metrics)/.test(port.name ?? ''));
  const port = (named ?? declared[0])?.containerPort;
  return port === undefined ? [] : [port];
}
