/**
 * Which pools this picker takes. Several picker implementations live in one cluster: a pool says
 * by `endpointPickerRef` which Service shall be asked for it, and may say by an annotation which
 * class of picker shall serve it. Everything else is left alone and only named.
 */
import { inferenceClassAnnotation, type PoolSpec } from '@leadsman/kube';

export interface PoolClaim {
  /** This picker's Services, `name` (in any namespace) or `namespace/name`. */
  readonly services: readonly string[];
  /** Empty: no class is asked for. */
  readonly inferenceClass: string;
  /** Whether a pool without the annotation belongs to `inferenceClass`. */
  readonly isDefaultClass: boolean;
}

/** Undefined when the pool is this picker's, else why it is not. */
export function whyForeign(spec: PoolSpec, claim: PoolClaim): string | undefined {
  if (spec.service === '') return 'endpointPickerRef names no Service';
  const qualified = `${spec.namespace}/${spec.service}`;
  if (!claim.services.some((service) => service === spec.service || service === qualified)) {
    return `endpointPickerRef names the Service ${spec.service}, which is not this picker's`;
  }
  if (claim.inferenceClass === '') return undefined;
  if (spec.inferenceClass === undefined) {
    return claim.isDefaultClass
      ? undefined
      : `it has no annotation ${inferenceClassAnnotation}, and this picker's class is no default`;
  }
  if (spec.inferenceClass === claim.inferenceClass) return undefined;
  return `its class is ${spec.inferenceClass}, this picker's is ${claim.inferenceClass}`;
}
