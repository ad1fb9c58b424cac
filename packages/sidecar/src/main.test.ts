import { fileURLToPath } from 'node:url';
import { launchProcess, waitUntil } from '@leadsman/testing';
import { expect, it } from 'vitest';

const main = fileURLToPath(new URL('./main.ts', import.meta.url));
const launch = (env: Record<string, string>) =>
  launchProcess({ name: 'sidecar', command: process.execPath, args: [main], env });
const faults = [
  { LEADSMAN_ENGINE: 'misspelt', LEADSMAN_ADMIN_PORT: '0' },
  { LEADSMAN_ENGINE_PORTS: 'none' },
];

it.each(faults)('in a pod it stays, idle, when it cannot start: %o', async (fault) => {
  const sidecar = await launch({ ...fault, LEADSMAN_POD_UID: 'pod-1' });
  await waitUntil(() => /cannot start/.test(sidecar.output()), {
    what: 'the reason in the log',
    describe: () => sidecar.output(),
  });
  expect(sidecar.exitState).toBeUndefined();
  expect(await sidecar.stop()).toMatchObject({ code: 0 });
});

it.each(faults)('started by hand it ends with the reason: %o', async (fault) => {
  const sidecar = await launch({ ...fault, LEADSMAN_POD_UID: '' });
  expect((await sidecar.exited).code).toBeGreaterThan(0);
  expect(sidecar.output()).toMatch(/misspelt|wrong form|engine-ports/);
});
