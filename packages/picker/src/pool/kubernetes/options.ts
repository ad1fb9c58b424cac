/** Configuration of the Kubernetes membership, and how to open it from there. */
import { KubeClient, openAccess } from '@leadsman/kube';
import type { Logger } from '@leadsman/service';
import { z } from 'zod';
import { KubernetesMembership } from './kubernetes-membership.ts';

export const kubernetesOptions = {
  kubeconfigFile: z
    .string()
    .default('')
    .describe('Kubeconfig; empty: the service account of the pod, else where kubectl looks.'),
  poolNamespaces: z
    .array(z.string())
    .default([])
    .describe('Namespaces whose InferencePools are served; empty: the own one; *: all.'),
  pickerServices: z
    .array(z.string())
    .default([])
    .describe('Services of this picker, name or namespace/name: endpointPickerRef names one.'),
  inferenceClass: z
    .string()
    .default('')
    .describe('Serve only pools of this class (annotation); empty: ask for no class.'),
  inferenceClassIsDefault: z
    .boolean()
    .default(false)
    .describe('Whether a pool without the class annotation belongs to --inference-class.'),
};

export interface KubernetesConfig {
  readonly kubeconfigFile: string;
  readonly poolNamespaces: readonly string[];
  readonly pickerServices: readonly string[];
  readonly inferenceClass: string;
  readonly inferenceClassIsDefault: boolean;
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
  const access = await openAccess({
    kubeconfigFile: config.kubeconfigFile,
    env: dependencies.env,
  });
  const named = [...new Set(config.poolNamespaces)];
  const namespaces = named.includes('*') ? [''] : named.length > 0 ? named : [access.namespace];
  return new KubernetesMembership({
    client: new KubeClient(access),
    namespaces,
    claim: {
      services: config.pickerServices,
      inferenceClass: config.inferenceClass,
      isDefaultClass: config.inferenceClassIsDefault,
    },
    logger: dependencies.logger,
    random: dependencies.random,
  });
}
