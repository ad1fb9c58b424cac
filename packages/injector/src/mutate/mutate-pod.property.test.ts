import fc from 'fast-check';
import { expect, it } from 'vitest';
import { additions } from './json-patch.ts';
import { mutatePod } from './mutate-pod.ts';
import type { Container, Pod } from './pod.ts';
import { sidecarTemplateShape } from './sidecar-template.ts';

const name = fc.constantFrom('engine', 'mesh', 'leadsman-sidecar', 'leadsman-nats', 'download');
const container: fc.Arbitrary<Container> = fc.record(
  {
    name,
    ports: fc.array(fc.record({ containerPort: fc.integer({ min: 1, max: 65_535 }) })),
    securityContext: fc.record({ runAsUser: fc.nat(2_000) }),
    volumeMounts: fc.array(fc.record({ name, mountPath: fc.constantFrom('/a', '/a/b', '/') })),
  },
  { requiredKeys: ['name'] },
);
const pod: fc.Arbitrary<Pod> = fc.record(
  {
    metadata: fc.record(
      {
        labels: fc.dictionary(fc.constantFrom('app', 'leadsman.dev/inject'), fc.string()),
        annotations: fc.dictionary(
          fc.constantFrom('leadsman.dev/port', 'leadsman.dev/token-file', 'other'),
          fc.constantFrom('8000', '8000,8001', '/a/b/c', 'x'),
        ),
      },
      { requiredKeys: [] },
    ),
    spec: fc.record(
      {
        containers: fc.array(container, { maxLength: 3 }),
        initContainers: fc.array(container, { maxLength: 3 }),
        volumes: fc.array(fc.record({ name }), { maxLength: 3 }),
        hostNetwork: fc.boolean(),
        securityContext: fc.record({ runAsUser: fc.nat(2) }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);
const template = sidecarTemplateShape.parse({ image: 'i', natsCredentialsSecret: 's' });

it('leaves its input as it was, and its own result as it is', () => {
  fc.assert(
    fc.property(pod, (before) => {
      const copy = structuredClone(before);
      const once = mutatePod(before, { template });
      expect(before).toEqual(copy);
      const twice = mutatePod(once.pod, { template });
      expect(twice.pod).toEqual(once.pod);
      if (once.injected) expect(twice).toMatchObject({ injected: false, reason: 'present' });
    }),
  );
});

it('never makes a name appear twice, and never removes or reorders what was there', () => {
  fc.assert(
    fc.property(pod, (before) => {
      const after = mutatePod(before, { template });
      const volumes = (after.pod.spec?.volumes ?? []).filter((one) => one.name === 'leadsman-nats');
      const had = (before.spec?.volumes ?? []).filter((one) => one.name === 'leadsman-nats');
      expect(volumes.length).toBe(Math.max(had.length, after.injected ? 1 : 0));
      // Throws when anything was removed.
      additions(before, after.pod);
    }),
  );
});
