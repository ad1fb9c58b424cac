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
 */
import { type PodTarget, sidecarName } from '@leadsman/kube';
import type { Container, EnvVar, Pod, VolumeMount } from './pod.ts';
import type { SidecarTemplate } from './sidecar-template.ts';

/** Ports, path and the rest of what shall be scraped, after annotations and pools were read. */
export type Target = Omit<PodTarget, 'faults'>;

export const natsVolumeName = 'leadsman-nats';
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

/** The sidecar of a pod. */
export function sidecarContainer(pod: Pod, template: SidecarTemplate, target: Target): Container {
  const mounts = volumeMounts(pod, template, target);
  return {
    name: sidecarName,
    image: template.image,
    imagePullPolicy: template.imagePullPolicy,
    args: [...template.args],
    restartPolicy: 'Always',
    env: environment(template, target),
    ports: [{ name: 'leadsman', containerPort: template.adminPort, protocol: 'TCP' }],
    resources: structuredClone(template.resources),
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
          { key: 'nats.creds', path: 'nats.creds' },
          { key: 'ca.crt', path: 'ca.crt' },
        ],
      },
    },
  ];
}

function environment(template: SidecarTemplate, target: Target): EnvVar[] {
  // By name, so that a setting of the template takes the place of what is set here: the API server
  // refuses a name that is given twice wherever server-side apply owns the list.
  const settings = new Map<string, string>();
  const set = (name: string, value: string) => {
    if (value !== '') settings.set(name, value);
  };
  set('LEADSMAN_ADMIN_PORT', String(template.adminPort));
  // Always said, because the kubelet describes the Services of a namespace by variables of such
  // names: beside a Service `leadsman-agent` this one would be a URL.
  set('LEADSMAN_AGENT_PORT', String(agentPortDefault));
  set('LEADSMAN_ENGINE_PORTS', target.ports.join(','));
  set('LEADSMAN_ENGINE_PATH', target.path);
  set('LEADSMAN_ENGINE_SCHEME', target.scheme);
  set('LEADSMAN_ENGINE', target.engine);
  set('LEADSMAN_TOKEN_FILE', target.tokenFile);
  if (template.natsCredentialsSecret !== '') {
    set('LEADSMAN_NATS_CREDS_FILE', `${natsFolder}/nats.creds`);
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

function volumeMounts(pod: Pod, template: SidecarTemplate, target: Target): VolumeMount[] {
  const mounts: VolumeMount[] = [];
  if (template.natsCredentialsSecret !== '') {
    mounts.push({ name: natsVolumeName, mountPath: natsFolder, readOnly: true });
  }
  const token = mountOf(pod, target.tokenFile);
  if (token !== undefined) mounts.push({ ...token, readOnly: true });
  return mounts;
}

/** The mount by which the engine's container sees `file`, the innermost when several do. */
function mountOf(pod: Pod, file: string): VolumeMount | undefined {
  if (file === '') return undefined;
  let best: VolumeMount | undefined;
  for (const container of pod.spec?.containers ?? []) {
    for (const mount of container.volumeMounts ?? []) {
      const inside = file === mount.mountPath || file.startsWith(`${mount.mountPath}/`);
      if (inside && mount.mountPath.length > (best?.mountPath.length ?? 0)) best = mount;
    }
  }
  return best;
}
