/**
 * What is kept of an InferencePool (inference.networking.k8s.io/v1): the one projection, for the
 * picker that serves a pool and the injector that looks for the pods it will select.
 *
 * The CRD's schema has checked most of it; a pool that got past an older schema is kept with
 * what is usable, and `faults` says what is not, so that the operator reads it where the
 * endpoints are missed.
 */

import type { KubeObject, Resource } from './object.ts';

export const inferencePools: Resource = {
  group: 'inference.networking.k8s.io',
  version: 'v1',
  plural: 'inferencepools',
};

/** Names the picker implementation that shall serve a pool; absent: the default one. */
export const inferenceClassAnnotation = 'inference.networking.k8s.io/inference-class';

/** The API allows so many ports, each an endpoint of every pod. */
const portsMax = 8;

export interface PoolSpec {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly selector: readonly (readonly [string, string])[];
  readonly ports: readonly number[];
  /** `http` or `kubernetes.io/h2c`. */
  readonly appProtocol: string;
  /** The Service that endpointPickerRef names; empty when it names something else. */
  readonly service: string;
  readonly inferenceClass: string | undefined;
  readonly faults: readonly string[];
}

/** `namespace/name`, the pool's name everywhere else. */
export function poolKey(spec: PoolSpec): string {
  return `${spec.namespace}/${spec.name}`;
}

/** The projection for the reflector. */
export function readPool(object: KubeObject): PoolSpec {
  const { metadata, spec } = object as KubeObject & { spec?: Record<string, unknown> };
  const faults: string[] = [];
  const reference = record(spec?.endpointPickerRef);
  const isService = (reference.group ?? '') === '' && (reference.kind ?? 'Service') === 'Service';
  return {
    uid: metadata.uid,
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    selector: readSelector(record(spec?.selector), faults),
    ports: readPorts(spec?.targetPorts, faults),
    appProtocol: typeof spec?.appProtocol === 'string' ? spec.appProtocol : 'http',
    service: isService && typeof reference.name === 'string' ? reference.name : '',
    inferenceClass: metadata.annotations?.[inferenceClassAnnotation],
    faults,
  };
}

function readSelector(selector: Record<string, unknown>, faults: string[]): [string, string][] {
  const labels = Object.entries(record(selector.matchLabels)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  // Taken literally it would select every pod of the namespace, the gateway's own included.
  if (labels.length === 0) faults.push('the selector has no label');
  return labels;
}

function readPorts(value: unknown, faults: string[]): number[] {
  const ports: number[] = [];
  for (const entry of Array.isArray(value) ? value : []) {
    const number = record(entry).number;
    if (typeof number !== 'number' || !Number.isInteger(number) || number < 1 || number > 65_535) {
      faults.push(`not a port: ${JSON.stringify(number)}`);
    } else if (!ports.includes(number)) ports.push(number);
  }
  if (ports.length === 0) faults.push('the pool has no target port');
  if (ports.length > portsMax) faults.push(`only the first ${portsMax} target ports are used`);
  return ports.slice(0, portsMax);
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
