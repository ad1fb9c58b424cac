/** What the picker keeps of a Pod, and whether it may be picked. */
import type { KubeObject, Resource } from '@leadsman/kube';
import { podKeyFromUid, podKeyText } from '@leadsman/wire';

export const pods: Resource = { group: '', version: 'v1', plural: 'pods' };

/** Why a pod has no endpoint. Low cardinality: label values of a gauge. */
export const podStates = [
  'ready',
  'not_ready',
  'terminating',
  'no_address',
  'not_running',
  /** Ready, but none of the ports it declares is one of the pool's. */
  'port_mismatch',
] as const;
export type PodState = (typeof podStates)[number];

export interface PodFacts {
  readonly uid: string;
  readonly podKey: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Empty until the kubelet has reported one. */
  readonly address: string;
  readonly state: PodState;
  /** Ports that the pod says it serves; undefined: it does not say, which is allowed. */
  readonly ports: readonly number[] | undefined;
  /** The kubelet's word for it, for people. */
  readonly detail: string;
  /** RFC 3339, so that texts compare like times. */
  readonly createdAt: string;
}

interface ContainerPorts {
  readonly restartPolicy?: string;
  readonly ports?: readonly { readonly containerPort?: number; readonly protocol?: string }[];
}

interface PodSpec {
  readonly containers?: readonly ContainerPorts[];
  readonly initContainers?: readonly ContainerPorts[];
}

interface PodStatus {
  readonly phase?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip?: string }[];
  readonly conditions?: readonly {
    readonly type?: string;
    readonly status?: string;
    readonly reason?: string;
  }[];
}

const noLabels: Readonly<Record<string, string>> = Object.freeze({});

/** The projection for the reflector. */
export function readPod(object: KubeObject): PodFacts {
  const {
    metadata,
    spec,
    status = {},
  } = object as KubeObject & {
    spec?: PodSpec;
    status?: PodStatus;
  };
  const address = status.podIP || status.podIPs?.[0]?.ip || '';
  const ready = status.conditions?.find((condition) => condition.type === 'Ready');
  return {
    uid: metadata.uid,
    podKey: podKeyText(podKeyFromUid(metadata.uid)),
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    labels: metadata.labels ?? noLabels,
    address,
    ...stateOf(metadata.deletionTimestamp !== undefined, status.phase ?? '', address, ready),
    ports: declaredPorts(spec),
    createdAt: metadata.creationTimestamp ?? '',
  };
}

/**
 * Container ports are for people and need not be stated. They say something about the pod only
 * where every container states some: an engine without them beside a mesh proxy with them may
 * listen anywhere.
 */
function declaredPorts(spec: PodSpec | undefined): number[] | undefined {
  const containers = spec?.containers ?? [];
  const saysAll = containers.every((container) => (container.ports ?? []).length > 0);
  if (containers.length === 0 || !saysAll) return undefined;
  // A native sidecar may be the proxy that serves for the engine.
  const sidecars = (spec?.initContainers ?? []).filter((one) => one.restartPolicy === 'Always');
  return [...containers, ...sidecars].flatMap((container) =>
    (container.ports ?? [])
      .filter((port) => (port.protocol ?? 'TCP') === 'TCP')
      .flatMap((port) => (port.containerPort === undefined ? [] : [port.containerPort])),
  );
}

/** A pod that ends is out at once, however ready it still says it is. */
function stateOf(
  terminating: boolean,
  phase: string,
  address: string,
  ready: { readonly status?: string; readonly reason?: string } | undefined,
): { state: PodState; detail: string } {
  if (terminating) return { state: 'terminating', detail: '' };
  if (phase !== 'Running') return { state: 'not_running', detail: phase };
  if (address === '') return { state: 'no_address', detail: '' };
  if (ready?.status !== 'True') return { state: 'not_ready', detail: ready?.reason ?? '' };
  return { state: 'ready', detail: '' };
}

/** Whether two projections of one pod mean the same to a pool. */
export function sameFacts(a: PodFacts, b: PodFacts): boolean {
  return (
    a.state === b.state &&
    a.address === b.address &&
    a.detail === b.detail &&
    a.createdAt === b.createdAt &&
    a.ports?.join() === b.ports?.join() &&
    sameLabels(a.labels, b.labels)
  );
}

function sameLabels(
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): boolean {
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => a[key] === b[key]);
}
