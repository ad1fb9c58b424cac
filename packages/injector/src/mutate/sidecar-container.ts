/**
 * The container that is added to a pod: a native sidecar (an init container that keeps running),
 * so that it starts before the engine, is ended after it, and does not keep a Job from ending.
 *
 * Rules that keep the model pod from harm:
 * - No probe of any kind. A startup probe would hold the engine's container back, a readiness
 *   probe would be part of the pod's readiness, a liveness probe would restart the container,
 *   and the pod is unready while it restarts. What a hung sidecar costs is freshness only.
 * - Volumes of secrets are optional: a missing secret must not keep the pod from starting.
 * - A user id of its own where the pod runs as root: see sidecar-template.ts.
 * - Nothing of a container's mounts but the volume and its sub-path: see token-mount.ts.
 * - Bounds where the pod's other containers have them, none where the pod has: see sidecar-resources.ts.
 * - A port that no container of the pod declares: the sidecar starts first and would take it away.
 */
import { type PodTarget, sidecarName } from '@leadsman/kube';
import type { Container, EnvVar, Pod, VolumeMount } from './pod.ts';
import { sidecarResources } from './sidecar-resources.ts';
import type { SidecarTemplate } from './sidecar-template.ts';

/** Ports, path and the rest of what shall be scraped, after annotations and pools were read. */
export type SidecarTarget = Omit<PodTarget, 'faults'>;

const natsVolumeName = 'leadsman-nats';
const natsFolder = '/var/run/leadsman/nats';
/** Where agents listen unless the installation says otherwise. */
const agentPortDefault = 9410;

/** Downward API: variable → field of the pod. */
const identity: readonly (readonly [string, string])[] = [
  ['LEADSMAN_POD_UID', 'metadata.uid'],
  ['LEADSMAN_POD_NAME', 'metadata.name'],
  ['LEADSMAN_POD_NAMESPACE', 'metadata.namespace'],
  ['LEADSMAN_POD_IP', 'status.podIP'],
  ['LEADSMAN_NODE_NAME', 'spec.nodeName'],
  ['LEADSMAN_HOST_IP', 'status.hostIP'],
];

/** How many ports are tried before the last one is taken whoever else has it. */
const adminPortTries = 8;

/** The sidecar of a pod; `tokenMount` is where its token file is. */
export function sidecarContainer(
  pod: Pod,
  template: SidecarTemplate,
  target: SidecarTarget,
  tokenMount: VolumeMount | undefined,
): Container {
  const mounts = volumeMounts(template, tokenMount);
  const adminPort = freePort(pod, template.adminPort, target.ports);
  return {
    name: sidecarName,
    image: template.image,
    imagePullPolicy: template.imagePullPolicy,
    args: [...template.args],
    restartPolicy: 'Always',
    env: environment(template, adminPort, target),
    ports: [{ name: 'leadsman', containerPort: adminPort, protocol: 'TCP' }],
    resources: sidecarResources(pod, template),
    securityContext: securityContext(pod, template),
    terminationMessagePolicy: 'FallbackToLogsOnError',
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts }),
  };
}

/** The volume with NATS credentials, where the template asks for one. */
export function sidecarVolumes(
  template: SidecarTemplate,
): { name: string; [field: string]: unknown }[] {
  if (template.natsCredentialsSecret === '') return [];
  return [
    {
      name: natsVolumeName,
      secret: {
        secretName: template.natsCredentialsSecret,
        optional: true,
        // Readable by the sidecar's group only where the pod sets one; the content is a credential.
        defaultMode: 0o444,
        // Optional as the whole is: the CA is there only where the servers' is not a public one.
        items: [
          ...(byPassword(template)
            ? [{ key: 'password', path: 'password' }]
            : [{ key: 'nats.creds', path: 'nats.creds' }]),
          { key: 'ca.crt', path: 'ca.crt' },
        ],
      },
    },
  ];
}

/** A user's name in the environment: the Secret holds a password, else credentials (JWT and seed). */
function byPassword(template: SidecarTemplate): boolean {
  return (template.env.LEADSMAN_NATS_USER ?? '') !== '';
}

function environment(
  template: SidecarTemplate,
  adminPort: number,
  target: SidecarTarget,
): EnvVar[] {
  // By name, so that a setting of the template takes the place of what is set here: the API server
  // refuses a name that is given twice wherever server-side apply owns the list.
  const settings = new Map<string, string>();
  const set = (name: string, value: string) => {
    if (value !== '') settings.set(name, value);
  };
  set('LEADSMAN_ADMIN_PORT', String(adminPort));
  // Always said, because the kubelet describes the Services of a namespace by variables of such
  // names: beside a Service `leadsman-agent` this one would be a URL.
  set('LEADSMAN_AGENT_PORT', String(agentPortDefault));
  set('LEADSMAN_ENGINE_PORTS', target.ports.join(','));
  set('LEADSMAN_ENGINE_PATH', target.path);
  set('LEADSMAN_ENGINE_SCHEME', target.scheme);
  set('LEADSMAN_ENGINE', target.engine);
  set('LEADSMAN_TOKEN_FILE', target.tokenFile);
  if (template.natsCredentialsSecret !== '') {
    if (byPassword(template)) set('LEADSMAN_NATS_PASSWORD_FILE', `${natsFolder}/password`);
    else set('LEADSMAN_NATS_CREDS_FILE', `${natsFolder}/nats.creds`);
  }
  for (const [name, value] of Object.entries(template.env)) set(name, value);
  return [
    ...identity.map(([name, fieldPath]) => ({
      name,
      valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } },
    })),
    ...Array.from(settings, ([name, value]) => ({ name, value })),
  ];
}

function securityContext(pod: Pod, template: SidecarTemplate): Record<string, unknown> {
  const podRunsAsRoot = pod.spec?.securityContext?.runAsUser === 0;
  const user = template.runAsUser ?? (podRunsAsRoot ? 65_532 : undefined);
  return {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    ...(user === undefined ? {} : { runAsUser: user, runAsGroup: user }),
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

/** The template's port, or the first after it that neither a container nor the engine has. */
function freePort(pod: Pod, first: number, engine: readonly number[]): number {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const declared = containers.flatMap(({ ports }) => ports ?? []).map((port) => port.containerPort);
  const taken = new Set([...engine, ...declared]);
  const last = Math.min(65_535, first + adminPortTries - 1);
  for (let port = first; port < last; port++) if (!taken.has(port)) return port;
  return last;
}

function volumeMounts(template: SidecarTemplate, tokenMount?: VolumeMount): VolumeMount[] {
  const mounts: VolumeMount[] = [];
  if (template.natsCredentialsSecret !== '') {
    mounts.push({ name: natsVolumeName, mountPath: natsFolder, readOnly: true });
  }
  if (tokenMount !== undefined) mounts.push(tokenMount);
  return mounts;
}
