/** Pods and pools as tests need them, with only what matters given. */
import type { NewObject } from './object-store.ts';

export interface PodFacts {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Empty: none assigned yet. */
  readonly ip?: string;
  readonly node?: string;
  readonly ready?: boolean;
  readonly phase?: string;
  readonly terminating?: boolean;
  readonly createdAt?: string;
  readonly hostNetwork?: boolean;
  /** Ports that its container declares; absent: none, which is allowed. */
  readonly ports?: readonly number[];
}

/** A pod as the API server shows it once the kubelet has reported its status. */
export function podObject(facts: PodFacts): NewObject {
  const ip = facts.ip ?? '';
  return {
    metadata: {
      name: facts.name,
      namespace: facts.namespace ?? 'default',
      labels: facts.labels ?? {},
      ...(facts.uid === undefined ? {} : { uid: facts.uid }),
      ...(facts.annotations === undefined ? {} : { annotations: facts.annotations }),
      ...(facts.createdAt === undefined ? {} : { creationTimestamp: facts.createdAt }),
      ...(facts.terminating === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: {
      nodeName: facts.node ?? 'node-1',
      ...(facts.hostNetwork === true ? { hostNetwork: true } : {}),
      containers: [
        {
          name: 'engine',
          image: 'engine',
          ports: (facts.ports ?? []).map((containerPort) => ({ containerPort })),
        },
      ],
    },
    status: {
      phase: facts.phase ?? 'Running',
      ...(ip === '' ? {} : { podIP: ip, podIPs: [{ ip }] }),
      conditions: [
        {
          type: 'Ready',
          status: facts.ready === false ? 'False' : 'True',
          ...(facts.ready === false ? { reason: 'ContainersNotReady' } : {}),
        },
      ],
    },
  };
}

export interface PoolFacts {
  readonly name: string;
  readonly namespace?: string;
  readonly selector?: Readonly<Record<string, string>>;
  readonly ports?: readonly number[];
  /** Name of the picker's Service. */
  readonly picker?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An InferencePool (inference.networking.k8s.io/v1). */
export function poolObject(facts: PoolFacts): NewObject {
  return {
    metadata: {
      name: facts.name,
      namespace: facts.namespace ?? 'default',
      ...(facts.annotations === undefined ? {} : { annotations: facts.annotations }),
    },
    spec: {
      selector: { matchLabels: facts.selector ?? { app: facts.name } },
      targetPorts: (facts.ports ?? [8000]).map((number) => ({ number })),
      endpointPickerRef: {
        group: '',
        kind: 'Service',
        name: facts.picker ?? 'leadsman-picker',
        port: { number: 9002 },
        failureMode: 'FailClose',
      },
    },
  };
}
