/**
 * The flags that a rig gives its processes: what the downward API and the chart set in a cluster,
 * with loopback addresses and ports of the system's choice.
 */
import { nodeIp, type RigPod } from './rig-pod.ts';

export type Flags = Readonly<Record<string, string | number | boolean | undefined>>;

/** How reports leave a node: one of the two is set. */
export interface TransportFlags {
  natsUrl: string | undefined;
  /** `host:port` of the picker's direct listener. */
  directAddress: string | undefined;
}

/** Where a process listened before it was killed, if it did; it shall listen there again. */
export type FormerAddresses = Readonly<Record<string, string>> | undefined;

export function agentFlags(
  node: { name: string; ip: string },
  transport: TransportFlags,
  former: FormerAddresses,
): Flags {
  return {
    'node-name': node.name,
    'admin-host': node.ip,
    'admin-port': formerPort(former, 'reports'),
    ...transportFlags(transport),
  };
}

export function sidecarFlags(
  pod: RigPod,
  given: { endpoint: string; agent: string; scrapeIntervalMs: number; subnet: number },
  transport: TransportFlags,
): Flags {
  return {
    'engine-host': pod.ip,
    'engine-ports': portOf(given.endpoint),
    'scrape-interval-ms': given.scrapeIntervalMs,
    'pod-uid': pod.uid,
    'pod-name': pod.name,
    'pod-namespace': 'demo',
    'pod-ip': pod.ip,
    'node-name': pod.node,
    'host-ip': nodeIp(pod.nodeIndex, given.subnet),
    'agent-port': portOf(given.agent),
    // The agent takes a report only from its pod's address, and loopback has many.
    'local-address': pod.ip,
    'admin-host': pod.ip,
    'admin-port': 0,
    ...transportFlags(transport),
  };
}

export function pickerFlags(
  given: {
    poolPath: string;
    strategyPath: string;
    staleAfterMs: number;
    /** Number among the replicas. */
    replica: number;
    direct: boolean;
  },
  natsUrl: string | undefined,
  former: FormerAddresses,
): Flags {
  return {
    'ext-proc-host': '127.0.0.1',
    'ext-proc-port': formerPort(former, 'ext_proc'),
    'health-port': 0,
    'admin-host': '127.0.0.1',
    'admin-port': formerPort(former, 'admin'),
    'pool-source': 'file',
    'pool-file': given.poolPath,
    'config-file': given.strategyPath,
    'stale-after-ms': given.staleAfterMs,
    'replica-name': `picker-${given.replica}`,
    'direct-host': '127.0.0.1',
    'direct-port': given.direct ? formerPort(former, 'direct') : undefined,
    'nats-url': natsUrl,
  };
}

function transportFlags({ natsUrl, directAddress }: TransportFlags): Flags {
  return natsUrl === undefined
    ? { 'collector-url': `grpc://${directAddress}` }
    : { 'nats-url': natsUrl };
}

function formerPort(former: FormerAddresses, listener: string): number {
  const address = former?.[listener];
  return address === undefined ? 0 : portOf(address);
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}
