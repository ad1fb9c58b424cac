/**
 * The webhook's certificate, managed by the injectors themselves: kept in a Secret that all
 * replicas share, trusted by the `caBundle` of the webhook configuration, renewed when two thirds
 * of its life are over.
 *
 *   Secret (tls.crt, tls.key, ca.crt = new + former authority)
 *      │ watched by every replica
 *      ├──> caBundle of every webhook in the configuration, repaired whenever it differs
 *      └──> served, a moment later where another one is still good: the API server first has to
 *           hear of the new bundle. The former authority stays in it for replicas that lag.
 *
 * Two replicas that renew at once: the second write meets a conflict, and takes what the first
 * one wrote.
 */
import { type KubeClient, KubeError, kubeErrorCode, Reflector, resourcePath } from '@leadsman/kube';
import type { Logger } from '@leadsman/service';
import { makeCertificate, validForMs } from '@leadsman/service/certificate';
import type { CertificateSource, ServedCertificate } from './certificate-source.ts';

const secrets = { group: '', version: 'v1', plural: 'secrets' };
const configurations = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'mutatingwebhookconfigurations',
};

export interface ManagedCertificateOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly secretName: string;
  readonly webhookName: string;
  readonly dnsNames: readonly string[];
  readonly validMs: number;
  readonly logger: Logger;
  /** Wall clock, ms since 1970: certificates know no other. */
  readonly nowMs: () => number;
  readonly random: () => number;
  /** From the trust of a new authority to its first use, ms. */
  readonly swapDelayMs?: number;
  /** Between two looks at the remaining life, ms. */
  readonly lookMs?: number;
}

interface SecretContent {
  readonly resourceVersion: string;
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

type Bundles = readonly { readonly name: string; readonly caBundle: string }[];

export class ManagedCertificate implements CertificateSource {
  readonly #options: ManagedCertificateOptions;
  readonly #secret: Reflector<SecretContent>;
  readonly #webhook: Reflector<Bundles>;
  #use: (certificate: ServedCertificate) => void = () => {};
  #current: { readonly cert: string; readonly key: string } | undefined;
  #problem = 'no certificate yet';
  #working: Promise<void> = Promise.resolve();
  #looking: NodeJS.Timeout | undefined;
  #swapping: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: ManagedCertificateOptions) {
    this.#options = options;
    const { client, random } = options;
    const changed = () => this.#reconcileSoon();
    const listener = { upserted: changed, removed: changed, listed: changed };
    this.#secret = new Reflector<SecretContent>({
      client,
      random,
      listener,
      resource: secrets,
      namespace: options.namespace,
      fieldSelector: `metadata.name=${options.secretName}`,
      project: (object) => readSecret(object as SecretObject),
    });
    this.#webhook = new Reflector<Bundles>({
      client,
      random,
      listener,
      resource: configurations,
      fieldSelector: `metadata.name=${options.webhookName}`,
      project: (object) => readBundles(object as WebhookObject),
    });
  }

  start(use: (certificate: ServedCertificate) => void): void {
    this.#use = use;
    this.#secret.start();
    this.#webhook.start();
    const look = () => this.#reconcileSoon();
    this.#looking = setInterval(look, this.#options.lookMs ?? 60_000);
  }

  missing(): string | undefined {
    if (this.#current !== undefined) return undefined;
    if (this.#secret.listed) return this.#problem;
    return `secret ${this.#options.secretName} not read: ${this.#secret.message}`;
  }

  endsAtMs(): number | undefined {
    if (this.#current === undefined) return undefined;
    const now = this.#options.nowMs();
    return now + (validForMs(this.#current.cert, now) ?? 0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#looking);
    clearTimeout(this.#swapping);
    await Promise.all([this.#secret.stop(), this.#webhook.stop()]);
    await this.#working;
  }

  /** One at a time, in order: two at once would renew twice. */
  #reconcileSoon(): void {
    this.#working = this.#working.then(async () => {
      if (this.#stopped || !this.#secret.listed) return;
      try {
        await this.#reconcile();
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        this.#problem = error.message;
        // A conflict means that another replica was first; its event is on the way.
        if (error.code === kubeErrorCode.conflict) return;
        this.#options.logger.warn({ err: error }, 'certificate not managed; will be tried again');
      }
    });
  }

  async #reconcile(): Promise<void> {
    const [content] = this.#secret.items.values();
    const { nowMs, validMs } = this.#options;
    const left = content === undefined ? undefined : validForMs(content.cert, nowMs());
    if (content === undefined || left === undefined || left < validMs / 3) {
      await this.#renew(content);
      return;
    }
    await this.#publish(content.ca);
    if (content.cert === this.#current?.cert) return;
    const good = this.endsAtMs() ?? 0;
    const delay = good > nowMs() ? (this.#options.swapDelayMs ?? 10_000) : 0;
    clearTimeout(this.#swapping);
    if (delay === 0) this.#serve(content);
    else this.#swapping = setTimeout(() => this.#serve(content), delay);
  }

  #serve({ cert, key }: SecretContent): void {
    this.#current = { cert, key };
    this.#options.logger.info({ endsAtMs: this.endsAtMs() }, 'certificate in use');
    this.#use(this.#current);
  }

  async #renew(former: SecretContent | undefined): Promise<void> {
    const { client, namespace, secretName, dnsNames, nowMs, validMs } = this.#options;
    const made = await makeCertificate({
      // Two authorities of one name in one bundle confuse verifiers that search by name.
      name: `leadsman-injector-${Math.floor(nowMs() / 1_000)}`,
      dnsNames,
      nowMs: nowMs(),
      validMs,
    });
    const formerCa = former === undefined ? '' : firstPem(former.ca);
    const keepsFormer = formerCa !== '' && (validForMs(formerCa, nowMs()) ?? 0) > 0;
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      data: {
        'tls.crt': encode(made.cert),
        'tls.key': encode(made.key),
        'ca.crt': encode(keepsFormer ? made.ca + formerCa : made.ca),
      },
    };
    this.#options.logger.info({ secret: secretName }, 'certificate is renewed');
    if (former === undefined) {
      await client.json('POST', resourcePath(secrets, namespace), {
        body: { ...secret, metadata: { name: secretName, namespace } },
      });
      return;
    }
    // A patch keeps labels and annotations that are not ours; the version makes it fail when
    // another replica was first.
    await client.json('PATCH', resourcePath(secrets, namespace, secretName), {
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion: former.resourceVersion }, data: secret.data },
    });
  }

  /** Makes every webhook of the configuration trust the bundle. */
  async #publish(ca: string): Promise<void> {
    const [webhooks] = this.#webhook.items.values();
    const wanted = encode(ca);
    const patch = (webhooks ?? []).flatMap((webhook, i) =>
      webhook.caBundle === wanted
        ? []
        : [
            { op: 'test', path: `/webhooks/${i}/name`, value: webhook.name },
            { op: 'add', path: `/webhooks/${i}/clientConfig/caBundle`, value: wanted },
          ],
    );
    if (patch.length === 0) return;
    const { client, webhookName } = this.#options;
    await client.json('PATCH', resourcePath(configurations, undefined, webhookName), {
      contentType: 'application/json-patch+json',
      body: patch,
    });
    this.#options.logger.info({ webhook: webhookName }, 'webhook trusts the certificate');
  }
}

type SecretObject = { metadata: { resourceVersion: string }; data?: Record<string, string> };
type WebhookObject = { webhooks?: { name: string; clientConfig?: { caBundle?: string } }[] };

function readSecret(object: SecretObject): SecretContent {
  const read = (key: string) => Buffer.from(object.data?.[key] ?? '', 'base64').toString('utf8');
  return {
    resourceVersion: object.metadata.resourceVersion,
    cert: read('tls.crt'),
    key: read('tls.key'),
    ca: read('ca.crt'),
  };
}

function readBundles(object: WebhookObject): Bundles {
  return (object.webhooks ?? []).map((webhook) => ({
    name: webhook.name,
    caBundle: webhook.clientConfig?.caBundle ?? '',
  }));
}

function encode(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

/** The newest authority of a bundle, which is written first. */
function firstPem(bundle: string): string {
  return /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/.exec(bundle)?.[0] ?? '';
}
