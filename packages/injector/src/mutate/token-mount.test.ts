import { expect, it } from 'vitest';
import type { Pod, VolumeMount } from './pod.ts';
import { tokenAccess } from './token-mount.ts';

const podWith = (volumeMounts: VolumeMount[], securityContext = {}): Pod => ({
  spec: { containers: [{ name: 'proxy' }, { name: 'engine', volumeMounts, securityContext }] },
});
const access = (file: string, ...mounts: VolumeMount[]) => tokenAccess(podWith(mounts), file);
const folder = '/var/run/leadsman/token';

it('takes the volume and its sub-path, and nothing else of the mount', () => {
  const mount = {
    name: 'keys',
    mountPath: '/keys',
    subPath: 'api',
    mountPropagation: 'Bidirectional',
    recursiveReadOnly: 'IfPossible',
    readOnly: false,
  };
  expect(access('/keys/a/token', mount)).toEqual({
    file: `${folder}/a/token`,
    mount: { name: 'keys', mountPath: folder, subPath: 'api', readOnly: true },
    fault: '',
  });
});

it.each([
  ['at a path of the sidecar’s own program', '/app', '/app/token', `${folder}/token`],
  ['at the root', '/', '/token', `${folder}/token`],
  ['with a slash at its end', '/keys/', '/keys/token', `${folder}/token`],
  ['of one file', '/keys/token', '/keys/token', folder],
  ['that the file’s name reaches by a detour', '/keys', '/keys/../keys/./token', `${folder}/token`],
])('sees the file by a mount %s', (_, mountPath, file, seen) => {
  const { mount, ...rest } = access(file, { name: 'keys', mountPath });
  expect(rest).toEqual({ file: seen, fault: '' });
  expect(mount).toEqual({ name: 'keys', mountPath: folder, readOnly: true });
});

it('takes the innermost mount, as the engine sees it', () => {
  const { mount } = access(
    '/keys/api/token',
    { name: 'all', mountPath: '/keys' },
    { name: 'api', mountPath: '/keys/api' },
    { name: 'apis', mountPath: '/keys/api/tok' },
  );
  expect(mount?.name).toBe('api');
});

it('says why the sidecar does without where a mount would keep the pod from starting', () => {
  const expr = { name: 'keys', mountPath: '/keys', subPathExpr: '$(POD_NAME)' };
  expect(access('/keys/token', expr)).toMatchObject({
    mount: undefined,
    fault: expect.stringMatching(/subPathExpr/),
  });
  expect(access('/elsewhere/token', expr)).toMatchObject({
    fault: expect.stringMatching(/no container mounts/),
  });
  const labelled = podWith([{ name: 'keys', mountPath: '/keys' }], {
    seLinuxOptions: { level: 's0' },
  });
  expect(tokenAccess(labelled, '/keys/token')).toMatchObject({
    mount: undefined,
    fault: expect.stringMatching(/SELinux/),
  });
  expect(access('')).toEqual({ file: '', mount: undefined, fault: '' });
});
