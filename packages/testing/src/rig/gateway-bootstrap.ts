/**
 * An Envoy bootstrap with one listener, one pool and one picker, as gateways configure it: an
 * ext_proc filter directly before the router, and a cluster that goes where the picker says.
 */

/** How the cluster learns the picker's choice. */
export type PoolCluster =
  /** ORIGINAL_DST by the destination header: any address the picker names. */
  | 'header'
  /** The override_host policy by dynamic metadata, over known hosts, least_request otherwise. */
  | 'override-host';

export interface GatewayOptions {
  /** `host:port` of the picker's ext_proc server; several are one cluster. */
  pickers: readonly string[];
  /** The picker serves TLS with a certificate of its own making; default true. */
  tls?: boolean;
  /** `:authority` of the ext_proc call; default `picker.demo`. */
  authority?: string;
  cluster?: PoolCluster;
  /** Hosts of the pool, needed by `override-host`. */
  endpoints?: readonly string[];
  requestBodyMode?: 'NONE' | 'STREAMED' | 'BUFFERED' | 'BUFFERED_PARTIAL' | 'FULL_DUPLEX_STREAMED';
  responseBodyMode?: 'NONE' | 'STREAMED' | 'FULL_DUPLEX_STREAMED';
  /** Requests go on without a pick when the picker fails; default false. */
  failOpen?: boolean;
}

/** Name of the listener, for the ports that the launcher returns. */
export const gatewayListener = 'gateway';

const filters = 'type.googleapis.com/envoy.extensions.filters';
const destinationKey = 'x-gateway-destination-endpoint';

/** The bootstrap as an object; every port of its own is 0. */
export function gatewayBootstrap(options: GatewayOptions): Record<string, unknown> {
  return {
    static_resources: {
      listeners: [listener(options)],
      clusters: [pickerCluster(options), poolCluster(options)],
    },
  };
}

function listener(options: GatewayOptions): object {
  return {
    name: gatewayListener,
    address: { socket_address: { address: '127.0.0.1', port_value: 0 } },
    filter_chains: [
      {
        filters: [
          {
            name: 'envoy.filters.network.http_connection_manager',
            typed_config: {
              '@type': `${filters}.network.http_connection_manager.v3.HttpConnectionManager`,
              stat_prefix: 'gateway',
              stream_idle_timeout: '0s',
              route_config: {
                virtual_hosts: [
                  {
                    name: 'all',
                    domains: ['*'],
                    routes: [{ match: { prefix: '/' }, route: { cluster: 'pool', timeout: '0s' } }],
                  },
                ],
              },
              http_filters: [stripFilter(), pickerFilter(options), routerFilter()],
            },
          },
        ],
      },
    ],
  };
}

/** A client must not choose the upstream. */
function stripFilter(): object {
  return {
    name: 'strip-client-pick',
    typed_config: {
      '@type': `${filters}.http.header_mutation.v3.HeaderMutation`,
      mutations: { request_mutations: [{ remove: destinationKey }] },
    },
  };
}

function pickerFilter(options: GatewayOptions): object {
  const responseBodyMode = options.responseBodyMode ?? 'NONE';
  return {
    name: 'picker',
    typed_config: {
      '@type': `${filters}.http.ext_proc.v3.ExternalProcessor`,
      grpc_service: {
        envoy_grpc: { cluster_name: 'picker', authority: options.authority ?? 'picker.demo' },
      },
      stat_prefix: 'picker',
      failure_mode_allow: options.failOpen ?? false,
      processing_mode: {
        request_header_mode: 'SEND',
        request_body_mode: options.requestBodyMode ?? 'FULL_DUPLEX_STREAMED',
        // The protocol wants the trailers with a duplex body, on either side.
        request_trailer_mode: 'SEND',
        response_header_mode: 'SEND',
        response_body_mode: responseBodyMode,
        response_trailer_mode: responseBodyMode === 'FULL_DUPLEX_STREAMED' ? 'SEND' : 'SKIP',
      },
      message_timeout: '10s',
      metadata_options: {
        receiving_namespaces: { untyped: ['envoy.lb'] },
        forwarding_namespaces: { untyped: ['envoy.lb', 'envoy.lb.subset_hint'] },
      },
    },
  };
}

function routerFilter(): object {
  return {
    name: 'envoy.filters.http.router',
    typed_config: { '@type': `${filters}.http.router.v3.Router` },
  };
}

function pickerCluster({ pickers, tls = true }: GatewayOptions): object {
  return {
    name: 'picker',
    type: 'STATIC',
    connect_timeout: '2s',
    // The default of 1,024 requests at once would turn a busy picker into errors.
    circuit_breakers: {
      thresholds: [{ max_connections: 40_000, max_pending_requests: 40_000, max_requests: 40_000 }],
    },
    typed_extension_protocol_options: {
      'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
        '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
        explicit_http_config: { http2_protocol_options: {} },
      },
    },
    ...(tls ? { transport_socket: anyCertificate() } : {}),
    load_assignment: assignment('picker', pickers),
  };
}

function anyCertificate(): object {
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      common_tls_context: { validation_context: {} },
    },
  };
}

function poolCluster(options: GatewayOptions): object {
  const breakers = { thresholds: [{ max_connections: 40_000, max_requests: 40_000 }] };
  const common = { name: 'pool', connect_timeout: '2s', circuit_breakers: breakers };
  if ((options.cluster ?? 'header') === 'header') {
    return {
      ...common,
      type: 'ORIGINAL_DST',
      lb_policy: 'CLUSTER_PROVIDED',
      original_dst_lb_config: { use_http_header: true, http_header_name: destinationKey },
    };
  }
  const metadata = (key: string) => ({ key: 'envoy.lb', path: [{ key }] });
  const policies = 'type.googleapis.com/envoy.extensions.load_balancing_policies';
  return {
    ...common,
    type: 'STATIC',
    load_assignment: assignment('pool', options.endpoints ?? []),
    load_balancing_policy: {
      policies: [
        {
          typed_extension_config: {
            name: 'envoy.load_balancing_policies.override_host',
            typed_config: {
              '@type': `${policies}.override_host.v3.OverrideHost`,
              override_host_sources: [{ metadata: metadata(destinationKey) }],
              selected_host_key: metadata(`${destinationKey}-served`),
              fallback_policy: {
                policies: [
                  {
                    typed_extension_config: {
                      name: 'envoy.load_balancing_policies.least_request',
                      typed_config: { '@type': `${policies}.least_request.v3.LeastRequest` },
                    },
                  },
                ],
              },
            },
          },
        },
      ],
    },
  };
}

function assignment(name: string, addresses: readonly string[]): object {
  return {
    cluster_name: name,
    endpoints: [
      {
        lb_endpoints: addresses.map((each) => {
          const at = each.lastIndexOf(':');
          const address = each.slice(0, at).replace(/^\[|\]$/g, '');
          const port_value = Number(each.slice(at + 1));
          return { endpoint: { address: { socket_address: { address, port_value } } } };
        }),
      },
    ],
  };
}
