/**
 * An Envoy bootstrap with one listener and one pool, as gateways configure it: an ext_proc filter
 * directly before the router, and a cluster that goes where the destination header says.
 */

/** Name of the listener, for the ports that the launcher returns. */
export const gatewayListener = 'gateway';

const filters = 'type.googleapis.com/envoy.extensions.filters';
const destinationKey = 'x-gateway-destination-endpoint';

/**
 * The bootstrap as an object; every port of its own is 0. `pickers` are the `host:port` of ext_proc
 * servers that serve TLS with a certificate of their own making.
 */
export function gatewayBootstrap(pickers: readonly string[]): Record<string, unknown> {
  return {
    static_resources: {
      listeners: [listener()],
      clusters: [pickerCluster(pickers), poolCluster()],
    },
  };
}

function listener(): object {
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
              http_filters: [stripFilter(), pickerFilter(), routerFilter()],
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

function pickerFilter(): object {
  return {
    name: 'picker',
    typed_config: {
      '@type': `${filters}.http.ext_proc.v3.ExternalProcessor`,
      grpc_service: { envoy_grpc: { cluster_name: 'picker', authority: 'picker.demo' } },
      stat_prefix: 'picker',
      processing_mode: {
        request_header_mode: 'SEND',
        request_body_mode: 'FULL_DUPLEX_STREAMED',
        request_trailer_mode: 'SEND',
        response_header_mode: 'SEND',
        response_body_mode: 'FULL_DUPLEX_STREAMED',
        response_trailer_mode: 'SEND',
      },
      message_timeout: '10s',
    },
  };
}

function routerFilter(): object {
  return {
    name: 'envoy.filters.http.router',
    typed_config: { '@type': `${filters}.http.router.v3.Router` },
  };
}

function pickerCluster(pickers: readonly string[]): object {
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
    transport_socket: anyCertificate(),
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

function poolCluster(): object {
  return {
    name: 'pool',
    type: 'ORIGINAL_DST',
    lb_policy: 'CLUSTER_PROVIDED',
    connect_timeout: '2s',
    circuit_breakers: { thresholds: [{ max_connections: 40_000, max_requests: 40_000 }] },
    original_dst_lb_config: { use_http_header: true, http_header_name: destinationKey },
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
