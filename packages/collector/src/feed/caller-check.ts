/** Whom a listener serves, by its configuration: callers with a token that is believed. */
import { KubeClient, openAccess, TokenReviewer } from '@leadsman/kube';
import type { LinkLogger } from '@leadsman/link';
import { type Authorizer, fileAuthorizer } from '@leadsman/link/grpc/bearer';
import type { TokenConfig } from './feed-config.ts';

/** Rejects when there is no way to the API server by configuration, and one is needed. */
export async function callerCheck(
  config: TokenConfig,
  { logger, nowMs }: { logger: LinkLogger; nowMs: () => number },
): Promise<Authorizer> {
  const { file, audience, kubeconfigFile, env } = config;
  const byFile: Authorizer = file === '' ? async () => false : fileAuthorizer(file);
  if (audience === '') return byFile;
  const client = new KubeClient(await openAccess({ kubeconfigFile, env }));
  const reviewer = new TokenReviewer({
    client,
    audience,
    nowMs,
    onError: (err) => logger.warn({ err }, 'token cannot be reviewed'),
  });
  return async (token) =>
    (await byFile(token)) || (await reviewer.review(token)).status === 'believed';
}

/** Settings of a process's HTTP side, `askerOptions` of the service package. */
export interface AskerSettings {
  adminTokenFile: string;
  adminTokenAudience: string;
  kubeconfig: string;
}

/** Who may ask for `/v1/*` of the HTTP side; `undefined`: everybody. Rejects as {@link callerCheck}. */
export async function askerCheck(
  settings: AskerSettings,
  deps: { logger: LinkLogger; nowMs: () => number; env: TokenConfig['env'] },
): Promise<Authorizer | undefined> {
  const { adminTokenFile: file, adminTokenAudience: audience, kubeconfig } = settings;
  if (file === '' && audience === '') return undefined;
  const kubeconfigFile = kubeconfig;
  return callerCheck({ file, audience, kubeconfigFile, env: deps.env }, deps);
}
