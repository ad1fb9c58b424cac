/** Pages of a small system in which nothing is wrong, for tests that then plant one fault. */
import type { FakePage } from '../ask/process.fixture.ts';

export type Pages = Record<string, FakePage>;

const page = (lines: string[]) => `# TYPE a gauge\n${lines.join('\n')}\n`;

const feed = [
  'leadsman_collector_feed_synced 1',
  'leadsman_collector_nats_connected 1',
  'leadsman_collector_nats_auth_errors_total 0',
  'leadsman_collector_nats_connect_errors_total 2',
  'leadsman_collector_nats_disconnects_total 1',
  'leadsman_collector_nats_permission_errors_total 0',
  'leadsman_collector_reports_total{result="full"} 0',
];

const pickerMetrics = [
  'leadsman_picker_ready 1',
  'leadsman_picker_nats_connected 1',
  'leadsman_picker_replicas 0',
  'leadsman_picker_pool_saturated{pool="ns/chat"} 0',
  'leadsman_picker_pool_slow_reports{pool="ns/chat"} 0',
  'leadsman_picker_worker_restarts_total 3',
  'leadsman_picker_tls_failures_total 7',
  'leadsman_picker_served_elsewhere_total 5',
  ...feed,
];

export function endpoint(number: number, extra: object = {}) {
  return {
    pool: 'ns/chat',
    destination: `10.0.0.${number}:8000`,
    podName: `engine-${number}`,
    nodeName: number < 3 ? 'node-a' : 'node-b',
    state: 'fresh',
    reason: 'ok',
    ageMs: 40,
    ...extra,
  };
}

export function healthyPicker(): Pages {
  return {
    '/readyz': 'ok\n',
    '/metrics': page(pickerMetrics),
    '/v1/pools': {
      pools: [
        {
          pool: 'ns/chat',
          endpoints: 4,
          reasons: [],
          neverAnswered: { count: 0, destinations: [] },
        },
      ],
      membership: {
        watches: [
          { resource: 'pods', namespace: 'ns', message: '' },
          {
            resource: 'inferenceobjectives',
            namespace: 'ns',
            reason: 'not_found',
            message: 'no CRD',
          },
        ],
        foreign: {},
      },
    },
    '/v1/endpoints': {
      endpoints: [1, 2, 3]
        .map((number) => endpoint(number))
        .concat(endpoint(4, { state: 'sleeping' })),
    },
  };
}

export function healthyAgent(): Pages {
  return {
    '/readyz': 'ok\n',
    '/metrics': page([
      'leadsman_node_agent_targets 2',
      'leadsman_node_agent_refused_frames_total{reason="wrong_peer"} 4',
      'leadsman_node_agent_refused_frames_total{reason="stalled"} 0',
    ]),
    '/v1/targets': { targets: [] },
  };
}

export function healthySidecar(): Pages {
  return {
    '/readyz': 'ok\n',
    '/metrics': page(['leadsman_sidecar_page_bytes_total 9']),
    '/snapshot': {
      exporter: { mode: 'auto', path: 'agent', agentOutcome: 'accepted' },
      targets: [
        {
          podName: 'engine-1',
          address: '10.0.0.1',
          port: 8000,
          state: 'fresh',
          reason: 'ok',
          detail: '',
          ageMs: 4,
        },
      ],
    },
  };
}

export function healthyNats(): Pages {
  return { '/healthz': { status: 'ok' }, '/varz': { server_id: 'N', slow_consumers: 2 } };
}

export interface GatewaySays {
  mode?: object;
  filters?: number;
  stats?: Record<string, number>;
}

export function gatewayPages(says: GatewaySays = {}): Pages {
  const mode = {
    request_body_mode: 'FULL_DUPLEX_STREAMED',
    response_body_mode: 'FULL_DUPLEX_STREAMED',
    ...says.mode,
  };
  const filter = {
    '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor',
    grpc_service: { envoy_grpc: { cluster_name: 'picker' } },
    processing_mode: mode,
  };
  const stats = {
    'cluster.picker.membership_healthy': 1,
    'cluster.picker.membership_total': 1,
    ...says.stats,
  };
  return {
    '/server_info': { state: 'LIVE' },
    '/config_dump': {
      configs: [{ http_filters: Array(says.filters ?? 1).fill({ typed_config: filter }) }],
    },
    '/stats': { stats: Object.entries(stats).map(([name, value]) => ({ name, value })) },
  };
}

/** With this in place of the line of the same series. */
export function withMetric(pages: Pages, series: string, value: number): Pages {
  const text = String(pages['/metrics']);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith(`${series} `));
  return { ...pages, '/metrics': `${[...lines, `${series} ${value}`].join('\n')}\n` };
}

/** The series rises by one with each look. */
export function withRising(pages: Pages, series: string): Pages {
  let value = 100;
  const body = () => ({ body: withMetric(pages, series, value++)['/metrics'] as string });
  return { ...pages, '/metrics': body };
}

/** A page whose object has other values at some keys. */
export function withJson(pages: Pages, path: string, change: object): Pages {
  return { ...pages, [path]: { ...(pages[path] as object), ...change } };
}
