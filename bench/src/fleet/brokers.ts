/** The NATS servers of a run: one, or a cluster of three whose members can be restarted in turn. */
import { readFile } from 'node:fs/promises';
import { launchNats, type NatsServer } from '@leadsman/testing';
import { cpuUsOf, rssBytesOf } from './process-cpu.ts';

/** What we recommend to operators, with ports left to the launcher. */
async function shippedConfig(): Promise<string> {
  const file = new URL('../../../deploy/nats/limits.conf', import.meta.url);
  return (await readFile(file, 'utf8')).replace(/^(port|http_port):.*$/gm, '');
}

export class Brokers {
  readonly #servers: NatsServer[];
  readonly #config: string;

  private constructor(servers: NatsServer[], config: string) {
    this.#servers = servers;
    this.#config = config;
  }

  static async launch(count: number): Promise<Brokers> {
    const config = await shippedConfig();
    const servers: NatsServer[] = [];
    for (let i = 0; i < count; i++) {
      servers.push(await launchNats({ config, ...clusterOf(count, servers) }));
    }
    return new Brokers(servers, config);
  }

  get count(): number {
    return this.#servers.length;
  }

  get urls(): string[] {
    return this.#servers.map((server) => server.url);
  }

  get version(): string {
    return this.#servers[0]?.version ?? '';
  }

  async cpuUs(): Promise<number> {
    const all = await Promise.all(this.#servers.map((server) => cpuUsOf(server.pid)));
    return all.reduce((sum, value) => sum + value, 0);
  }

  async rssBytes(): Promise<number> {
    const all = await Promise.all(this.#servers.map((server) => rssBytesOf(server.pid)));
    return all.reduce((sum, value) => sum + value, 0);
  }

  /** Ends one server as its orchestrator would, and starts it again at the same place. */
  async restart(index: number): Promise<void> {
    const old = this.#servers[index];
    if (old === undefined) throw new RangeError(`no server ${index}`);
    const others = this.#servers.filter((server) => server !== old);
    await old.stop();
    const { client, cluster } = old.ports;
    this.#servers[index] = await launchNats({
      config: this.#config,
      port: client,
      ...(cluster === undefined
        ? {}
        : { cluster: { name: 'bench', port: cluster, routes: others.map(routeOf) } }),
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()));
  }
}

function clusterOf(count: number, before: readonly NatsServer[]) {
  return count === 1 ? {} : { cluster: { name: 'bench', routes: before.map(routeOf) } };
}

function routeOf(server: NatsServer): string {
  return `nats://127.0.0.1:${server.ports.cluster}`;
}
