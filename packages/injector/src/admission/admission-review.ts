/**
 * An AdmissionReview (admission.k8s.io/v1) in, its answer out. Pure.
 *
 * The answer always allows the pod. Whatever goes wrong here, a model pod without sidecar is
 * still a model pod; the fault is counted and the node agent scrapes it.
 */
import { injectLabel } from '@leadsman/kube';
import { additions } from '../mutate/json-patch.ts';
import { mutatePod, type SkipReason } from '../mutate/mutate-pod.ts';
import type { Pod } from '../mutate/pod.ts';
import type { SidecarTemplate } from '../mutate/sidecar-template.ts';

/** What became of a review; label values of a counter. */
export type Outcome = 'injected' | SkipReason | 'not_asked_for' | 'not_a_pod_creation' | 'fault';

/** Ports of the pool of ours that selects a pod with these labels; undefined: none does. */
export type PoolLookup = (
  namespace: string,
  labels: Readonly<Record<string, string>>,
) => readonly number[] | undefined;

export interface Reviewed {
  readonly outcome: Outcome;
  /** For the log: a pod is not named until it exists. */
  readonly pod: string;
  /** Warnings shown to whoever creates the pod, and the error of a fault. */
  readonly notes: readonly string[];
  /** The AdmissionReview to send back. */
  readonly answer: Record<string, unknown>;
}

interface ReviewRequest {
  readonly uid: string;
  readonly operation?: string;
  readonly namespace?: string;
  readonly resource?: { readonly group?: string; readonly resource?: string };
  readonly subResource?: string;
  readonly object?: Pod;
}

/** Undefined when `body` is no review, which only a stranger sends. */
export function review(
  body: unknown,
  options: { template: SidecarTemplate; poolPorts: PoolLookup },
): Reviewed | undefined {
  const request = (body as { request?: ReviewRequest } | null)?.request;
  if (typeof request?.uid !== 'string') return undefined;
  try {
    return decide(request, options);
  } catch (error) {
    const note = error instanceof Error ? error.message : String(error);
    return reviewed(request, 'fault', [note]);
  }
}

function decide(
  request: ReviewRequest,
  options: { template: SidecarTemplate; poolPorts: PoolLookup },
): Reviewed {
  const pod = request.object;
  const isPod = request.resource?.resource === 'pods' && (request.resource.group ?? '') === '';
  if (!isPod || request.operation !== 'CREATE' || request.subResource || !pod) {
    return reviewed(request, 'not_a_pod_creation');
  }
  const labels = pod.metadata?.labels ?? {};
  const poolPorts = options.poolPorts(request.namespace ?? '', labels);
  if (labels[injectLabel] !== 'true' && poolPorts === undefined) {
    return reviewed(request, labels[injectLabel] === 'false' ? 'opted_out' : 'not_asked_for');
  }
  const result = mutatePod(pod, { template: options.template, poolPorts: poolPorts ?? [] });
  if (!result.injected) return reviewed(request, result.reason);
  return reviewed(request, 'injected', result.faults, additions(pod, result.pod));
}

function reviewed(
  request: ReviewRequest,
  outcome: Outcome,
  notes: readonly string[] = [],
  patch: readonly unknown[] = [],
): Reviewed {
  const metadata = request.object?.metadata as { name?: string; generateName?: string } | undefined;
  return {
    outcome,
    pod: `${request.namespace ?? ''}/${metadata?.name ?? `${metadata?.generateName ?? ''}*`}`,
    notes,
    answer: {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: {
        uid: request.uid,
        allowed: true,
        ...(notes.length === 0 ? {} : { warnings: notes.map((note) => `leadsman: ${note}`) }),
        ...(patch.length === 0
          ? {}
          : {
              patchType: 'JSONPatch',
              patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
            }),
      },
    },
  };
}
