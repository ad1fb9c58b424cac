/**
 * What the agent keeps of a pod of its node: whether it is one to scrape, and where.
 *
 * A pod with our sidecar speaks for itself. One that is not ready is scraped all the same: its
 * numbers are true, and whether it may get requests is for the picker to know. A pod that ended,
 * is being deleted, or has no address is not.
 */
import { type KubeObject, podTarget, sidecarName } from '@leadsman/kube';
import { formatHostPort } from '@leadsman/wire';

export interface ScrapeTarget {
  port: number;
  url: string;
  engine: string;
}

export interface PodFacts {
  uid: string;
  name: string;
  namespace: string;
  address: string;
  hasSidecar: boolean;
  /** Empty: nothing to scrape (yet). */
  targets: readonly ScrapeTarget[];
}

interface Pod extends KubeObject {
  spec?: {
    containers?: readonly { name?: string }[];
    initContainers?: readonly { name?: string }[];
  };
  status?: { phase?: string; podIP?: string };
}

/**
 * The facts of a pod; `undefined` when it is none of ours. `selected`: the pods were chosen by a
 * label selector, so that one without the annotation is scraped at `portDefault`.
 */
export function podFacts(
  object: KubeObject,
  selected: boolean,
  portDefault: number,
): PodFacts | undefined {
  const pod = object as Pod;
  const { metadata, spec, status } = pod;
  const wanted = podTarget(metadata.annotations);
  const hasSidecar = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])].some(
    (container) => container.name === sidecarName,
  );
  if (wanted.ports.length === 0 && !selected && !hasSidecar) return undefined;
  const address = status?.podIP ?? '';
  const ended = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  const leaves = metadata.deletionTimestamp !== undefined;
  const ports = wanted.ports.length > 0 ? wanted.ports : [portDefault];
  const scheme = wanted.scheme || 'http';
  return {
    uid: metadata.uid,
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    address,
    hasSidecar,
    targets:
      hasSidecar || address === '' || ended || leaves
        ? []
        : ports.map((port) => ({
            port,
            url: `${scheme}://${formatHostPort(address, port)}${wanted.path || '/'}`,
            engine: wanted.engine || 'auto',
          })),
  };
}
