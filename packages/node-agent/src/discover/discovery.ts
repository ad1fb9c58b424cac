/**
 * Finds the pods of this node that have no sidecar and has them scraped: a watch on the API
 * server limited to the node, so that its cost does not grow with the cluster.
 *
 * The API server's absence changes nothing: what is scraped goes on being scraped.
 */
import { type KubeClient, Reflector } from '@leadsman/kube';
import type { LinkLogger } from '@leadsman/link';
import { registerReadCounters } from '@leadsman/service';
import { Counter, Gauge, type Registry } from 'prom-client';
import { type PodFacts, podFacts } from './pod-facts.ts';
import type { PodScrapes } from './pod-scrapes.ts';

export interface DiscoveryOptions {
  client: KubeClient;
  nodeName: string;
  /** Label selector; empty: pods say by annotation that they want to be scraped. */
  selector: string;
  portDefault: number;
  scrapes: PodScrapes;
  logger: LinkLogger;
  random: () => number;
}

export class Discovery {
  readonly #reflector: Reflector<PodFacts>;
  readonly #client: KubeClient;
  readonly #scrapes: PodScrapes;

  constructor(options: DiscoveryOptions) {
    const { client, nodeName, selector, portDefault, scrapes, logger, random } = options;
    this.#client = client;
    this.#scrapes = scrapes;
    this.#reflector = new Reflector<PodFacts>({
      client,
      resource: { group: '', version: 'v1', plural: 'pods' },
      fieldSelector: `spec.nodeName=${nodeName}`,
      ...(selector === '' ? {} : { labelSelector: selector }),
      project: (object) => podFacts(object, selector !== '', portDefault),
      listener: {
        upserted: (_, pod) => scrapes.update(pod),
        removed: (_, pod) => scrapes.remove(pod),
        state: (reason, message) => {
          if (reason !== undefined)
            logger.warn({ reason, message }, 'pods of the node not watched');
        },
      },
      random,
    });
  }

  /** Pods that should report and have no sidecar. */
  get podsWithoutSidecar(): number {
    let pods = 0;
    for (const pod of this.#reflector.items.values()) if (!pod.hasSidecar) pods++;
    return pods;
  }

  /** Whether the node's pods were ever listed. */
  get listed(): boolean {
    return this.#reflector.listed;
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
    await this.#scrapes.stop();
    this.#client.access.close();
  }
}

export function registerDiscoveryMetrics(
  registry: Registry,
  discovery: Discovery,
  scrapes: PodScrapes,
): void {
  const registers = [registry];
  new Gauge({
    name: 'leadsman_node_agent_no_sidecar_pods',
    help: 'Pods of this node that should report and have no sidecar.',
    registers,
    collect() {
      this.set(discovery.podsWithoutSidecar);
    },
  });
  new Gauge({
    name: 'leadsman_node_agent_scraped_targets',
    help: 'Targets that this agent scrapes itself.',
    registers,
    collect() {
      this.set(scrapes.size);
    },
  });
  registerReadCounters(registry, 'node_agent', [
    [
      'refused_scrape_targets_total',
      'Targets not scraped: no room, or an address or engine that cannot be used.',
      () => scrapes.refusedTargets,
    ],
  ]);
  new Counter({
    name: 'leadsman_node_agent_pages_total',
    help: 'Pages fetched by this agent, by how they were asked for.',
    labelNames: ['way'],
    registers,
    collect() {
      const { wholePages, byNamePages } = scrapes.pages;
      this.reset();
      this.inc({ way: 'whole' }, wholePages);
      this.inc({ way: 'by_name' }, byNamePages);
    },
  });
  new Counter({
    name: 'leadsman_node_agent_page_bytes_total',
    help: 'Bytes of these pages.',
    labelNames: ['way'],
    registers,
    collect() {
      const { wholeBytes, byNameBytes } = scrapes.pages;
      this.reset();
      this.inc({ way: 'whole' }, wholeBytes);
      this.inc({ way: 'by_name' }, byNameBytes);
    },
  });
  new Counter({
    name: 'leadsman_node_agent_scrapes_total',
    help: 'Scrapes by this agent, by their outcome.',
    labelNames: ['outcome'],
    registers,
    collect() {
      this.reset();
      for (const [outcome, count] of scrapes.outcomes) this.inc({ outcome }, count);
    },
  });
}
