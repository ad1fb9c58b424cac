/**
 * The mount by which the sidecar sees the engine's token file.
 *
 * The volume is the pod's and the mount is ours: of the engine's mount only the volume and the
 * sub-path are taken. `mountPropagation` would make the API server refuse a container without
 * privileges, `subPathExpr` names variables that this container has not (the kubelet could not make
 * it, and with it no container of the pod), and at the engine's own path the volume could lie over
 * the sidecar's program. So it is seen in a folder of its own, and the file's name is changed with it.
 */
import { posix } from 'node:path';
import type { Container, Pod, VolumeMount } from './pod.ts';

const tokenFolder = '/var/run/leadsman/token';

export interface TokenAccess {
  /** Where the sidecar finds the token; empty: the pod names none. */
  readonly file: string;
  readonly mount: VolumeMount | undefined;
  /** Why the sidecar will not see the file, as a line for people; empty: nothing is wrong. */
  readonly fault: string;
}

/** How a sidecar of `pod` sees `file`, a path in the engine's container. */
export function tokenAccess(pod: Pod, file: string): TokenAccess {
  if (file === '') return { file, mount: undefined, fault: '' };
  const path = posix.normalize(file);
  const without = (why: string): TokenAccess => ({
    file,
    mount: undefined,
    fault: `the sidecar cannot see ${file}: ${why}`,
  });
  const found = innermost(pod, path);
  if (found === undefined) return without('no container mounts a volume there');
  const { container, mount } = found;
  if (mount.subPathExpr) return without('its mount has a subPathExpr');
  // Containers that see one volume under two SELinux labels keep a pod from starting.
  if (container.securityContext?.seLinuxOptions) {
    return without(`container ${container.name} has SELinux options of its own`);
  }
  return {
    file: tokenFolder + path.slice(folderOf(mount).length),
    mount: {
      name: mount.name,
      mountPath: tokenFolder,
      ...(mount.subPath ? { subPath: mount.subPath } : {}),
      readOnly: true,
    },
    fault: '',
  };
}

/** The mount that holds `path`; the longest where several do, as the kernel sees it. */
function innermost(
  pod: Pod,
  path: string,
): { container: Container; mount: VolumeMount } | undefined {
  let best: { container: Container; mount: VolumeMount } | undefined;
  let length = -1;
  for (const container of pod.spec?.containers ?? []) {
    for (const mount of container.volumeMounts ?? []) {
      const folder = folderOf(mount);
      if (path !== folder && !path.startsWith(`${folder}/`)) continue;
      if (folder.length <= length) continue;
      best = { container, mount };
      length = folder.length;
    }
  }
  return best;
}

/** Without slashes at its end: the root is the empty text. */
function folderOf(mount: VolumeMount): string {
  return mount.mountPath.replace(/\/+$/, '');
}
