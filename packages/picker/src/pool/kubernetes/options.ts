/** From the picker's configuration to its membership. */
import { KubeClient, openAccess } from '@leadsman/kube';
import type { Logger } from '@leadsman/service';
import { KubernetesMembership } from './kubernetes-membership.ts';

export interface KubernetesConfig {
  /** Empty: the service account of the pod, else where kubectl looks. */
  readonly kubeconfig: string;
  /** Empty: the own one; `*`: all. */
  readonly namespaces: readonly string[];
  /** Services of this picker, `name` or `namespace/name`. */
  readonly services: readonly string[];
  readonly inferenceClass: string;
  readonly inferenceClassDefault: boolean;
}

/**
 * Finds the credentials and makes the membership; nothing is asked of the API server yet. Throws
 * KubeError `connect` when there are no credentials at all, which no waiting would mend.
 */
export async function openKubernetesMembership(
  config: KubernetesConfig,
  dependencies: {
    env: Readonly<Record<string, string | undefined>>;
    logger: Logger;
    random: () => number;
  },
): Promise<KubernetesMembership> {
  const access = await openAccess({ kubeconfigFile: config.kubeconfig, env: dependencies.env });
  const named = [...new Set(config.namespaces)];
  const namespaces = named.includes('*') ? [''] : named.length > 0 ? named : [access.namespace];
  return new KubernetesMembership({
    client: new KubeClient(access),
    namespaces,
    claim: {
      services: config.services,
      inferenceClass: config.inferenceClass,
      isDefaultClass: config.inferenceClassDefault,
    },
    logger: dependencies.logger,
    random: dependencies.random,
  });
}
