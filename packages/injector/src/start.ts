/**
 * The injector's parts and how they hang together: a certificate, the webhook that uses it, the
 * selectors of pools, and the HTTP side for probes and metrics.
 */
import type { AddressInfo } from 'node:net';
import type { KubeClient } from '@leadsman/kube';
import { createAdmin, type Logger, RotatingCertificate } from '@leadsman/service';
import { Counter, Gauge, type Registry } from 'prom-client';
import { PoolSelectors } from './admission/pool-selectors.ts';
import type { CertificateSource } from './certificate/certificate-source.ts';
import { ManagedCertificate } from './certificate/managed-certificate.ts';
import type { InjectorConfig } from './config.ts';
import type { SidecarTemplate } from './mutate/sidecar-template.ts';
import { createWebhookServer } from './webhook-server.ts';

export interface InjectorDependencies {
  readonly client: KubeClient;
  readonly template: SidecarTemplate;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly random: () => number;
  /** Wall clock, ms since 1970. */
  readonly nowMs: () => number;
  /** Resolves after that many ms. */
  readonly delay: (ms: number) => Promise<unknown>;
}

export interface RunningInjector {
  readonly adminPort: number;
  /** The webhook's port, once a certificate is there. */
  readonly webhookPort: Promise<number>;
  /**
   * Ends it after the notice, during which pods are still reviewed: an API server goes on calling
   * for a moment, and a call that fails makes a pod without sidecar.
   */
  stop(): Promise<void>;
}

/** Starts everything; only the admin side has to be there before this returns. */
export async function startInjector(
  config: InjectorConfig,
  dependencies: InjectorDependencies,
): Promise<RunningInjector> {
  const { client, template, logger, registry, random } = dependencies;
  const reviews = new Counter({
    name: 'leadsman_injector_reviews_total',
    help: 'Pods reviewed, by what became of them.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const pools = new PoolSelectors({ client, random });
  const certificates = certificateSource(config, dependencies);
  const webhook = createWebhookServer({
    host: config.webhookHost,
    port: config.webhookPort,
    template,
    poolPorts: pools.lookup,
    reviews,
    logger,
  });
  registerCertificateGauge(registry, certificates, dependencies.nowMs);
  let draining = false;
  const admin = createAdmin({
    registry,
    logger,
    ready: () => {
      if (draining) return 'draining';
      const waiting = webhook.listening ? undefined : 'the webhook does not listen yet';
      return certificates.missing() ?? waiting;
    },
  });
  await admin.listen({ host: config.adminHost, port: config.adminPort });
  const adminPort = (admin.server.address() as AddressInfo).port;
  logger.info({ listener: 'admin', address: `${config.adminHost}:${adminPort}` }, 'listening');
  pools.reflector.start();
  const first = Promise.withResolvers<number>();
  certificates.start((certificate) => {
    webhook.use(certificate).then(first.resolve, first.reject);
  });
  return {
    adminPort,
    webhookPort: first.promise,
    async stop() {
      draining = true;
      webhook.drain();
      await dependencies.delay(webhook.listening ? config.drainNoticeMs : 0);
      await Promise.all([certificates.stop(), pools.reflector.stop(), webhook.close()]);
      await admin.close();
      client.access.close();
    },
  };
}

function certificateSource(
  config: InjectorConfig,
  { client, logger, random, nowMs }: InjectorDependencies,
): CertificateSource {
  if (config.tlsCertFile !== '') {
    const files = { certFile: config.tlsCertFile, keyFile: config.tlsKeyFile };
    return new RotatingCertificate({ files, logger });
  }
  const namespace = config.podNamespace || client.access.namespace;
  const host = `${config.serviceName}.${namespace}`;
  return new ManagedCertificate({
    client,
    namespace,
    secretName: config.secretName,
    webhookName: config.webhookName,
    dnsNames: [`${host}.svc`, `${host}.svc.cluster.local`, host],
    validMs: config.certificateDays * 86_400_000,
    logger,
    nowMs,
    random,
  });
}

function registerCertificateGauge(
  registry: Registry,
  certificates: CertificateSource,
  nowMs: () => number,
): void {
  new Gauge({
    name: 'leadsman_injector_certificate_left_seconds',
    help: 'Remaining life of the certificate in use; absent without one.',
    registers: [registry],
    collect() {
      const end = certificates.endsAtMs();
      if (end === undefined) this.reset();
      else this.set((end - nowMs()) / 1_000);
    },
  });
}
