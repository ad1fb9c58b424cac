/** The membership source that the configuration asks for. */

import type { Logger } from '@leadsman/service';
import { ViewReader } from '@leadsman/view/reader';
import { Network } from '@leadsman/wire';
import type { Registry } from 'prom-client';
import type { PickerConfig } from './config/picker-config.ts';
import { FileSource } from './pool/file-source.ts';
import type { MembershipSource } from './pool/membership.ts';
import { ViewSource } from './pool/view-source.ts';

export interface MembershipDeps {
  view: ArrayBufferLike;
  logger: Logger;
  registry: Registry;
  random: () => number;
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * Makes the source; it starts later. Kubernetes code is loaded only where it is used. Rejects
 * when a kubeconfig cannot be used.
 */
export async function openMembership(
  config: PickerConfig,
  deps: MembershipDeps,
): Promise<MembershipSource> {
  const { logger, registry } = deps;
  if (config.poolSource === 'view') {
    const networks = config.poolNetworks.map((text) => new Network(text));
    return new ViewSource(new ViewReader(deps.view), config.poolName, networks);
  }
  if (config.poolSource === 'file') {
    return new FileSource({ path: config.poolFile, reader: new ViewReader(deps.view), logger });
  }
  const { openKubernetesMembership } = await import('./pool/kubernetes/options.ts');
  const { registerMembershipMetrics } = await import('./pool/kubernetes/membership-metrics.ts');
  const membership = await openKubernetesMembership(config, deps);
  registerMembershipMetrics(registry, membership);
  return membership;
}
