/**
 * The pods of this node and their addresses, as the API server has them: who may report here. A
 * watch limited to the node, so that its cost does not grow with the cluster.
 *
 * Without a list so far nothing is known, and nobody is refused for it. When the API server is away
 * the last list stays: a pod that started meanwhile reports elsewhere until it is back.
 */
import { type KubeClient, type KubeObject, Reflector } from '@leadsman/kube';
import type { LinkLogger } from '@leadsman/link';
import {
  addressBytes,
  canonicalAddress,
  podKeyFromUid,
  podKeyText,
  writeAddress,
} from '@leadsman/wire';
import type { PodDirectory } from '../batch/target-table.ts';

export interface NodePodsOptions {
  client: KubeClient;
  nodeName: string;
  logger: LinkLogger;
  random: () => number;
}

interface PodAddresses {
  /** Keys as text: a static pod knows itself by another UID than the API server knows it by. */
  keys: readonly string[];
  addresses: readonly Uint8Array[];
}

interface Pod extends KubeObject {
  status?: { phase?: string; podIP?: string; podIPs?: readonly { ip?: string }[] };
}

/** UID of a static pod at its kubelet, noted in the pod that mirrors it. */
const staticUidAnnotation = 'kubernetes.io/config.hash';

export class NodePods implements PodDirectory {
  readonly #reflector: Reflector<PodAddresses>;
  readonly #client: KubeClient;
  readonly #byKey = new Map<string, PodAddresses>();

  constructor({ client, nodeName, logger, random }: NodePodsOptions) {
    this.#client = client;
    this.#reflector = new Reflector<PodAddresses>({
      client,
      resource: { group: '', version: 'v1', plural: 'pods' },
      fieldSelector: `spec.nodeName=${nodeName}`,
      project: podAddresses,
      listener: {
        upserted: (_, pod) => {
          for (const key of pod.keys) this.#byKey.set(key, pod);
        },
        removed: (_, pod) => {
          for (const key of pod.keys) this.#byKey.delete(key);
        },
        state: (reason, message) => {
          if (reason !== undefined) {
            logger.warn({ reason, message }, 'who is on this node is not watched');
          }
        },
      },
      random,
    });
  }

  get listed(): boolean {
    return this.#reflector.listed;
  }

  addressesOf(podKey: string): readonly Uint8Array[] | undefined {
    return this.#byKey.get(podKey)?.addresses;
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
    this.#client.access.close();
  }
}

/** `undefined`: a pod that ended, whose address may be another one's by now. */
function podAddresses(object: KubeObject): PodAddresses | undefined {
  const { metadata, status = {} } = object as Pod;
  if (status.phase === 'Succeeded' || status.phase === 'Failed') return undefined;
  const uids = [metadata.uid, metadata.annotations?.[staticUidAnnotation] ?? ''];
  const texts = new Set([status.podIP, ...(status.podIPs ?? []).map(({ ip }) => ip)]);
  const addresses: Uint8Array[] = [];
  for (const text of texts) {
    if (text === undefined || canonicalAddress(text) === undefined) continue;
    const bytes = new Uint8Array(addressBytes);
    writeAddress(text, bytes, 0);
    addresses.push(bytes);
  }
  const keys = uids.filter((uid) => uid !== '').map((uid) => podKeyText(podKeyFromUid(uid)));
  return { keys, addresses };
}
