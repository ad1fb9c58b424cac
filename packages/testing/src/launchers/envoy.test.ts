import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Envoy, launchEnvoy } from './envoy.ts';
import { requireEnvoy } from './required.ts';

const envoys: Envoy[] = [];

afterEach(async () => {
  await Promise.all(envoys.splice(0).map((envoy) => envoy.stop()));
});

const bootstrap = (upstreamPort: number) => `
static_resources:
  listeners:
  - name: front
    address: {socket_address: {address: 127.0.0.1, port_value: 0}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          route_config:
            virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: upstream}}]}]
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - name: upstream
    type: STATIC
    load_assignment:
      cluster_name: upstream
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: ${upstreamPort}}}}}]}]
`;

describe.skipIf(!requireEnvoy())('launchEnvoy', () => {
  it('proxies on the port that it states', async () => {
    const upstream = createServer((_, response) => response.end('hello'));
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const envoy = await launchEnvoy({
      bootstrap: bootstrap((upstream.address() as AddressInfo).port),
    });
    envoys.push(envoy);
    const response = await fetch(`http://127.0.0.1:${envoy.ports.listeners.front}/`);
    expect(await response.text()).toBe('hello');
    expect(await envoy.admin('/server_info')).toContain(envoy.version);
    upstream.close();
  });

  it('rejects with what Envoy said about a bad bootstrap', async () => {
    await expect(launchEnvoy({ bootstrap: { static_resources: { nonsense: 1 } } })).rejects.toThrow(
      /nonsense/,
    );
  });
});
