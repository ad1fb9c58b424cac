/** Where this picker's view is filled from, by its flags. Any mix is allowed: newest wins. */
import type { FeedConfig } from '@leadsman/collector';
import { natsOptionsFrom } from '@leadsman/link/nats/options';
import { collectorAccessOf } from '@leadsman/service';
import type { PickerConfig } from './config/picker-config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The feed of the embedded collector. `env`: where a pod learns of its API server. */
export function feedOf(config: PickerConfig, replicaName: string, env: Environment): FeedConfig {
  const name = `leadsman-picker-${replicaName}`;
  const feed: FeedConfig = { name };
  if (config.natsUrl.length > 0) {
    feed.nats = {
      options: natsOptionsFrom(config, `${name}-view`),
      subjectPrefix: config.subjectPrefix,
    };
  }
  if (config.directPort >= 0) feed.direct = directOf(config, env);
  if (config.collectorUrl.length > 0) {
    const tls = collectorAccessOf(config);
    feed.remote = { targets: config.collectorUrl, tls, intervalMs: 0 };
  }
  return feed;
}

function directOf(config: PickerConfig, env: Environment): NonNullable<FeedConfig['direct']> {
  const { callerTokenFile: file, callerTokenAudience: audience } = config;
  const { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT } = env;
  return {
    host: config.directHost,
    port: config.directPort,
    tls: {
      certFile: config.directTlsCertFile,
      keyFile: config.directTlsKeyFile,
      caFile: config.directTlsClientCaFile,
    },
    ...((file !== '' || audience !== '') && {
      tokens: {
        file,
        audience,
        kubeconfigFile: config.kubeconfig,
        env: { KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT },
      },
    }),
  };
}
