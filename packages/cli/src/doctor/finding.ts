/** What `doctor` says: a fault by its name, where it is, what shows it, and what to do. */
export interface Finding {
  /** One of the names in docs/cli.md; they stay the same, so that scripts can go by them. */
  name: FaultName;
  /** The process, pool, pod or node. */
  where: string;
  /** What was seen. */
  evidence: string;
  advice: string;
}

/** Every fault that is looked for, and what to do about it. docs/cli.md lists the same names. */
export const faults = {
  not_recognised: 'give the admin address of one of our processes, NATS, Envoy or an engine',
  not_reachable: 'is it running, and is this its admin address and port? Its log says why it ended',
  wants_token: 'give a token that it believes: --token-file',
  version_skew: 'finish the rollout; sidecars follow when their pods are made anew',

  picker_not_ready: 'docs/operations.md, "Readiness", has each of these lines',
  picker_serves_no_pool: "the pool's Service and namespace against --services and --namespaces",
  pool_without_members: 'mend the pods, or the selector and ports of the pool',
  pool_saturated: 'scale out; or raise `saturation` in the strategy file',
  ports_never_answered: 'list only ports in the pool on which an engine listens',
  thresholds_contradict: 'raise staleAfterMs in the strategy file, or see why the page is slow',
  membership_unwatched: "the picker's role at the API server, the CRDs, and the API server itself",
  nats_credentials_refused: 'renew the credentials file or the account; it is read at each attempt',
  nats_away: 'start NATS, or mend the way to it; nothing of ours needs a restart',
  nats_not_permitted: "the account's permissions, or --subject-prefix; it asks again every 5 s",
  collector_not_synced:
    'NATS, or the senders that stream to it; CPU if it says that it is too slow',
  view_full: 'raise --endpoints-max',
  workers_restart: 'the log has the cause: `process ended`',
  gateway_speaks_no_tls: 'TLS on both sides or on neither: --tls, and the transport socket',
  gateway_ignores_picks: 'docs/envoy.md: a retry, or the wrong header or metadata',
  replicas_apart: 'one NATS and one --subject-prefix for all replicas, and a name for each',

  sidecar_silent: "its log and /snapshot; if the container is gone, the pod's events",
  node_silent: "the node's agent: its /readyz and log; if it is gone, its DaemonSet",
  never_reported: 'give the pod a sidecar (make it anew), or the annotation leadsman.dev/port',
  engine_dead: "the engine's log; if it serves, the port of its metrics (leadsman.dev/port)",
  engine_hangs: "the engine's log, and restart it: health checks often miss this",
  engine_wants_token: "give the sidecar the engine's token: annotation or --token-file",
  engine_without_series: 'leadsman explain URL; name the engine, or give a mapping',
  engine_page_unusable: 'leadsman explain URL; docs/engines.md has each reason',

  agent_without_way: 'NATS or the collectors: addresses, network policy',
  agent_refuses_reports: 'docs/operations.md, "Numbers are old": wrong_peer, full',
  agent_absent: 'install the agent on this node, or exporter mode auto',
  sidecar_unheard: 'its way: the agent, NATS or a collector; its log says what fails',

  nats_unhealthy: "the server's log",
  nats_slow_consumer: 'CPU for the pickers and collectors, or fewer reports (docs/sizing.md)',

  gateway_not_live: "the gateway's log and its control plane",
  gateway_without_ext_proc: 'attach the InferencePool to a route: docs/envoy.md',
  gateway_without_picker: 'the Service of the picker, its readiness, and TLS',
  gateway_drops_picks: "raise the ext_proc cluster's circuit breakers; more pickers",
  ext_proc_fails: "message_timeout, the picker's CPU and log",
  response_body_none:
    'response_body_mode FULL_DUPLEX_STREAMED or STREAMED, unless it is on purpose',
  request_body_none: 'request_body_mode FULL_DUPLEX_STREAMED: without it prompts are not seen',
} as const;

export type FaultName = keyof typeof faults;

export function finding(name: FaultName, where: string, evidence: string): Finding {
  return { name, where, evidence, advice: faults[name] };
}
