/**
 * Pods as they are found in clusters, each odd in one way that an added container could trip over.
 * All are valid by themselves. Pods that a Job or another owner makes differ from plain ones only by
 * their specification, so pods stand for them.
 */

/** What becomes of a pod: a sidecar, or the same pod as before. */
type Outcome = 'injected' | 'left';

export interface OddPod {
  readonly what: string;
  readonly outcome: Outcome;
  readonly spec: Record<string, unknown>;
  readonly annotations?: Record<string, string>;
  readonly labels?: Record<string, string>;
}

const engine = (more: object = {}) => ({ name: 'engine', image: 'vllm', ...more });
const odd = (
  what: string,
  spec: object,
  more: Partial<Pick<OddPod, 'outcome' | 'annotations' | 'labels'>> = {},
): OddPod => ({ what, outcome: 'injected', spec: { containers: [engine()], ...spec }, ...more });
const left = { outcome: 'left' as const };

const tokenFile = (file: string) => ({ annotations: { 'leadsman.dev/token-file': file } });
/** A pod whose engine sees its token by `mount` of a volume. */
const withToken = (what: string, mount: object, volume: object = { emptyDir: {} }, more = {}) =>
  odd(
    what,
    {
      containers: [
        engine({ volumeMounts: [{ name: 'v', mountPath: '/keys', ...mount }], ...more }),
      ],
      volumes: [{ name: 'v', ...volume }],
    },
    tokenFile('/keys/token'),
  );
const bounds = (cpu: string, memory: string) => ({ cpu, memory });
const affinity = (operator: string, ...values: string[]) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/os', operator, values }] }],
    },
  },
});
const privileged = { securityContext: { privileged: true } };
const claimSpec = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1Gi' } },
};

export const oddPods: readonly OddPod[] = [
  odd('of a Job', { restartPolicy: 'Never', activeDeadlineSeconds: 600 }),
  odd('of a Job that is tried again', { restartPolicy: 'OnFailure' }),
  odd('on the host network', { hostNetwork: true }, left),
  odd('with the host’s processes', { hostPID: true, hostIPC: true }),
  odd('with one process table', { shareProcessNamespace: true }),
  odd('with users of its own', { hostUsers: false }),
  odd('for Windows by os', { os: { name: 'windows' } }, left),
  odd('for Windows by selector', { nodeSelector: { 'kubernetes.io/os': 'windows' } }, left),
  odd('for Windows by affinity', { affinity: affinity('In', 'windows') }, left),
  odd('for anything but Linux', { affinity: affinity('NotIn', 'linux') }, left),
  odd(
    'for Windows by its user',
    { securityContext: { windowsOptions: { runAsUserName: 'ContainerUser' } } },
    left,
  ),
  odd('for Linux by os and selector', {
    os: { name: 'linux' },
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    affinity: affinity('In', 'linux'),
  }),
  withToken(
    'with a bidirectional mount',
    { mountPropagation: 'Bidirectional' },
    { hostPath: { path: '/mnt' } },
    privileged,
  ),
  withToken(
    'with a mount by expression',
    { subPathExpr: '$(POD_NAME)' },
    { emptyDir: {} },
    {
      env: [{ name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    },
  ),
  withToken('with a mount of a sub-path', { subPath: 'api/keys' }),
  withToken('with a recursively read-only mount', {
    readOnly: true,
    recursiveReadOnly: 'Enabled',
    mountPropagation: 'None',
  }),
  withToken('with a claim', {}, { persistentVolumeClaim: { claimName: 'keys' } }),
  withToken(
    'with an ephemeral volume',
    {},
    { ephemeral: { volumeClaimTemplate: { spec: claimSpec } } },
  ),
  withToken('with an image volume', {}, { image: { reference: 'keys:1' } }),
  withToken(
    'with a volume of a driver',
    {},
    { csi: { driver: 'secrets.example', readOnly: true } },
  ),
  withToken(
    'with SELinux options of its engine',
    {},
    { emptyDir: {} },
    {
      securityContext: { seLinuxOptions: { level: 's0:c1,c2' } },
    },
  ),
  odd(
    'with a read-only account token',
    {
      serviceAccountName: 'default',
      containers: [
        engine({
          volumeMounts: [
            {
              name: 'account',
              mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
              readOnly: true,
            },
          ],
        }),
      ],
      volumes: [
        { name: 'account', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
      ],
    },
    tokenFile('/var/run/secrets/kubernetes.io/serviceaccount/token'),
  ),
  odd(
    'with its token where the sidecar has its own files',
    {
      containers: [engine({ volumeMounts: [{ name: 'v', mountPath: '/var/run/leadsman/nats' }] })],
      volumes: [{ name: 'v', emptyDir: {} }],
    },
    tokenFile('/var/run/leadsman/nats/token'),
  ),
  odd(
    'with mounts within mounts',
    {
      containers: [
        engine({
          volumeMounts: [
            { name: 'v', mountPath: '/keys' },
            { name: 'w', mountPath: '/keys/api' },
          ],
        }),
      ],
      volumes: [
        { name: 'v', emptyDir: {} },
        { name: 'w', emptyDir: {} },
      ],
    },
    tokenFile('/keys/api/token'),
  ),
  odd('with a token that nothing mounts', {}, tokenFile('/keys/token')),
  odd('with a volume called like ours', { volumes: [{ name: 'leadsman-nats', emptyDir: {} }] }),
  odd('with a block device', {
    containers: [engine({ volumeDevices: [{ name: 'v', devicePath: '/dev/xvda' }] })],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'block' } }],
  }),
  odd('with claimed devices', {
    resourceClaims: [{ name: 'gpu', resourceClaimName: 'gpu' }],
    containers: [engine({ resources: { claims: [{ name: 'gpu' }] } })],
  }),
  odd('with extended resources', {
    containers: [engine({ resources: { limits: { 'nvidia.com/gpu': '8' } } })],
  }),
  odd('with resources of 0', {
    containers: [engine({ resources: { requests: bounds('0', '0'), limits: bounds('0', '0') } })],
  }),
  odd('that is Guaranteed', {
    containers: [engine({ resources: { limits: bounds('4', '16Gi') } })],
  }),
  odd('with huge pages', {
    containers: [
      engine({ resources: { limits: { ...bounds('4', '16Gi'), 'hugepages-2Mi': '64Mi' } } }),
    ],
  }),
  odd('with ephemeral storage bounded', {
    containers: [engine({ resources: { limits: { 'ephemeral-storage': '2Gi' } } })],
  }),
  odd('with resources of the pod as a whole, all of them given out', {
    resources: { requests: bounds('4', '16Gi'), limits: bounds('4', '16Gi') },
    containers: [engine({ resources: { requests: bounds('4', '16Gi') } })],
  }),
  odd('with init containers that end', {
    initContainers: [
      { name: 'download', image: 'tool' },
      { name: 'check', image: 'tool' },
    ],
  }),
  odd('with a native sidecar that has probes', {
    initContainers: [
      {
        name: 'mesh',
        image: 'mesh',
        restartPolicy: 'Always',
        startupProbe: { httpGet: { path: '/', port: 15021 } },
        lifecycle: { preStop: { sleep: { seconds: 5 } } },
      },
      { name: 'download', image: 'tool' },
    ],
  }),
  odd(
    'with a sidecar of its own',
    {
      initContainers: [{ name: 'leadsman-sidecar', image: 'mine', restartPolicy: 'Always' }],
    },
    left,
  ),
  odd(
    'with a sidecar among its containers',
    {
      containers: [engine(), { name: 'leadsman-sidecar', image: 'mine' }],
    },
    left,
  ),
  odd('with an engine at the sidecar’s port', {
    containers: [engine({ ports: [{ containerPort: 9400, name: 'leadsman' }] })],
  }),
  odd('with ports of the host', {
    containers: [engine({ ports: [{ containerPort: 8000, hostPort: 8000 }] })],
  }),
  odd('that runs as root', { securityContext: { runAsUser: 0, fsGroup: 0 } }),
  odd('with all that is strict', {
    automountServiceAccountToken: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 1_000,
      supplementalGroupsPolicy: 'Strict',
      seccompProfile: { type: 'Localhost', localhostProfile: 'engine.json' },
    },
  }),
  odd('that waits for a gate', { schedulingGates: [{ name: 'queue.example/wait' }] }),
  odd('with a grace of 0', { terminationGracePeriodSeconds: 0 }),
  odd(
    'with annotations that mean nothing',
    {},
    {
      annotations: {
        'leadsman.dev/port': '99999,x',
        'leadsman.dev/path': 'metrics',
        'leadsman.dev/token-file': 'a b',
      },
    },
  ),
  odd('that refuses', {}, { ...left, labels: { 'leadsman.dev/inject': 'false' } }),
];
