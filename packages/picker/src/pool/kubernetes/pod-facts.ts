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
  /** The kubelet's word for it, for people. */
  readonly detail: string;
  /** RFC 3339, so that texts compare like times. */
  readonly createdAt: string;
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
  const { metadata, status = {} } = object as KubeObject & { status?: PodStatus };
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
    createdAt: metadata.creationTimestamp ?? '',
  };
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
