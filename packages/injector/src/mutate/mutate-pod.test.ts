import { describe, expect, it } from 'vitest';
import { additions } from './json-patch.ts';
import { injectedAnnotation, mutatePod } from './mutate-pod.ts';
import type { Pod } from './pod.ts';
import { sidecarTemplateShape } from './sidecar-template.ts';

const template = sidecarTemplateShape.parse({
  image: 'leadsman:test',
  env: { LEADSMAN_NATS_URL: 'nats://nats:4222' },
  natsCredentialsSecret: 'nats-creds',
});

const modelPod = (more: Partial<Pod> = {}, spec: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'llm-0', labels: { app: 'llm' } },
  spec: {
    initContainers: [{ name: 'download', image: 'tool' }],
    containers: [{ name: 'engine', image: 'vllm', ports: [{ containerPort: 8000 }] }],
    volumes: [{ name: 'models', emptyDir: {} }],
    ...spec,
  },
  ...more,
});

const inject = (pod: Pod, poolPorts: number[] = []) => mutatePod(pod, { template, poolPorts }).pod;
const sidecarOf = (pod: Pod) =>
  pod.spec?.initContainers?.filter((container) => container.name === 'leadsman-sidecar') ?? [];
const envOf = (pod: Pod) =>
  Object.fromEntries(
    (sidecarOf(pod)[0]?.env ?? []).map((one) => [one.name, one.value ?? one.valueFrom]),
  );

describe('a model pod', () => {
  it('gets one native sidecar after its own init containers, one volume, one annotation', () => {
    const pod = inject(modelPod());
    expect(pod.spec?.initContainers?.map((container) => container.name)).toEqual([
      'download',
      'leadsman-sidecar',
    ]);
    expect(sidecarOf(pod)[0]).toMatchObject({ restartPolicy: 'Always', image: 'leadsman:test' });
    expect(pod.spec?.volumes).toHaveLength(2);
    expect(pod.metadata?.annotations).toEqual({ [injectedAnnotation]: 'sidecar' });
    expect(pod.spec?.containers).toEqual(modelPod().spec?.containers);
  });

  it('cannot be held back or made unready by it', () => {
    const [sidecar] = sidecarOf(inject(modelPod()));
    expect(Object.keys(sidecar ?? {}).filter((key) => key.endsWith('Probe'))).toEqual([]);
    expect(sidecar?.lifecycle).toBeUndefined();
    const secret = inject(modelPod()).spec?.volumes?.at(-1)?.secret;
    expect(secret).toMatchObject({ secretName: 'nats-creds', optional: true });
  });

  it('keeps within the restricted pod security standard', () => {
    expect(sidecarOf(inject(modelPod()))[0]?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      runAsUser: 65_532,
      runAsGroup: 65_532,
      seccompProfile: { type: 'RuntimeDefault' },
    });
  });

  it('that runs as root gets a sidecar that does not, even where the cluster assigns users', () => {
    const assigned = { ...template, runAsUser: null };
    const user = (pod: Pod) =>
      sidecarOf(mutatePod(pod, { template: assigned }).pod)[0]?.securityContext?.runAsUser;
    expect(user(modelPod())).toBeUndefined();
    expect(user(modelPod({}, { securityContext: { runAsUser: 0 } }))).toBe(65_532);
  });

  it('tells the sidecar who it is and what to scrape', () => {
    const annotations = {
      'leadsman.dev/port': '8000,8001',
      'leadsman.dev/path': '/m',
      'leadsman.dev/engine': 'sglang',
      'leadsman.dev/token-file': '/secrets/api/token',
    };
    const pod = inject(
      modelPod(
        { metadata: { annotations } },
        {
          containers: [
            {
              name: 'engine',
              volumeMounts: [
                { name: 'all', mountPath: '/secrets' },
                { name: 'api', mountPath: '/secrets/api' },
              ],
            },
          ],
        },
      ),
    );
    expect(envOf(pod)).toMatchObject({
      LEADSMAN_POD_UID: { fieldRef: { fieldPath: 'metadata.uid' } },
      LEADSMAN_HOST_IP: { fieldRef: { fieldPath: 'status.hostIP' } },
      LEADSMAN_ENGINE_PORTS: '8000,8001',
      LEADSMAN_ENGINE_PATH: '/m',
      LEADSMAN_ENGINE: 'sglang',
      LEADSMAN_TOKEN_FILE: '/var/run/leadsman/token/token',
      LEADSMAN_NATS_URL: 'nats://nats:4222',
    });
    expect(sidecarOf(pod)[0]?.volumeMounts).toContainEqual({
      name: 'api',
      mountPath: '/var/run/leadsman/token',
      readOnly: true,
    });
  });

  it('is scraped on the pool’s ports when it names none, else on a port it declares', () => {
    expect(envOf(inject(modelPod(), [9000, 9001])).LEADSMAN_ENGINE_PORTS).toBe('9000,9001');
    expect(envOf(inject(modelPod())).LEADSMAN_ENGINE_PORTS).toBe('8000');
    const ports = [{ containerPort: 22 }, { containerPort: 8080, name: 'http-api' }];
    const named = modelPod({}, { containers: [{ name: 'engine', ports }] });
    expect(envOf(inject(named)).LEADSMAN_ENGINE_PORTS).toBe('8080');
  });
});

describe('the environment of the sidecar', () => {
  const namesAndValues = (env: Record<string, string>, adminPort = 9400) => {
    const given = sidecarTemplateShape.parse({ image: 'leadsman:test', env, adminPort });
    const [sidecar] = sidecarOf(mutatePod(modelPod(), { template: given }).pod);
    return (sidecar?.env ?? []).map((one) => `${one.name}=${one.value}`);
  };

  it('has each name once; what the template says takes the place of our own', () => {
    const env = namesAndValues({ LEADSMAN_ADMIN_PORT: '9500', LEADSMAN_ENGINE: 'sglang' });
    expect(new Set(env.map((one) => one.split('=')[0])).size).toBe(env.length);
    expect(env).toContain('LEADSMAN_ADMIN_PORT=9500');
    expect(env).toContain('LEADSMAN_ENGINE=sglang');
  });

  it('says the port of the agent, which a Service leadsman-agent in the namespace would set', () => {
    expect(namesAndValues({})).toContain('LEADSMAN_AGENT_PORT=9410');
    const env = namesAndValues({ LEADSMAN_AGENT_PORT: '9411' });
    expect(env.filter((one) => one.startsWith('LEADSMAN_AGENT_PORT='))).toEqual([
      'LEADSMAN_AGENT_PORT=9411',
    ]);
  });
});

describe('the port of the sidecar', () => {
  const adminPort = (pod: Pod) => {
    const [sidecar] = sidecarOf(inject(pod));
    expect(envOf(inject(pod)).LEADSMAN_ADMIN_PORT).toBe(String(sidecar?.ports?.[0]?.containerPort));
    return sidecar?.ports?.[0]?.containerPort;
  };
  const declares = (...ports: number[]) => [
    { name: 'engine', ports: ports.map((containerPort) => ({ containerPort })) },
  ];

  it('is none that the pod’s own containers declare or its annotation names', () => {
    expect(adminPort(modelPod())).toBe(9400);
    expect(adminPort(modelPod({}, { containers: declares(9400, 9401) }))).toBe(9402);
    const annotations = { 'leadsman.dev/port': '9400' };
    expect(adminPort(modelPod({ metadata: { annotations } }))).toBe(9401);
    const before = [{ name: 'mesh', ports: [{ containerPort: 9400 }] }];
    expect(adminPort(modelPod({}, { initContainers: before }))).toBe(9401);
  });
});

describe('a second call', () => {
  it('after other tools changed the pod adds nothing and undoes nothing', () => {
    const once = structuredClone(inject(modelPod()));
    once.spec?.initContainers?.unshift({ name: 'mesh', image: 'mesh' });
    for (const container of once.spec?.initContainers ?? []) {
      container.securityContext = { ...container.securityContext, runAsUser: 1234 };
    }
    const twice = mutatePod(once, { template });
    expect(twice).toMatchObject({ injected: false, reason: 'present' });
    expect(twice.pod).toEqual(once);
    expect(additions(once, twice.pod)).toEqual([]);
  });

  it('gives the same pod for a sidecar that was written by hand', () => {
    const pod = modelPod({}, { containers: [{ name: 'leadsman-sidecar' }, { name: 'engine' }] });
    expect(inject(pod)).toBe(pod);
  });
});

describe('no sidecar for', () => {
  it.each([
    ['a pod on the host network', modelPod({}, { hostNetwork: true }), 'host_network'],
    [
      'a pod that refuses',
      modelPod({ metadata: { labels: { 'leadsman.dev/inject': 'false' } } }),
      'opted_out',
    ],
    ['a Windows pod', modelPod({}, { os: { name: 'windows' } }), 'windows'],
    [
      'a pod for Windows nodes',
      modelPod({}, { nodeSelector: { 'kubernetes.io/os': 'windows' } }),
      'windows',
    ],
    [
      'the mirror of a static pod',
      modelPod({ metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } }),
      'static',
    ],
    ['a pod without containers', { metadata: {}, spec: {} }, 'no_container'],
    ['an empty object', {}, 'no_container'],
  ])('%s', (_, pod, reason) => {
    const result = mutatePod(pod, { template });
    expect(result).toEqual({ injected: false, pod, reason });
  });
});

describe('the patch', () => {
  it('only adds', () => {
    const pod = modelPod();
    expect(additions(pod, inject(pod)).map(({ op, path }) => `${op} ${path}`)).toEqual([
      'add /metadata/labels/leadsman.dev~1sidecar',
      'add /metadata/annotations',
      'add /spec/initContainers/-',
      'add /spec/volumes/-',
    ]);
    expect(() => additions({ a: [1, 2] }, { a: [1] })).toThrow(/removed/);
    expect(() => additions({ a: 1 }, {})).toThrow(/removed/);
  });
});
