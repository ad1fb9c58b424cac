/** Every variable that the chart sets exists in its process, with a value that it accepts. */
import { collectorConfigShape } from '@leadsman/collector';
import { mutatePod, readSidecarTemplate } from '@leadsman/injector';
import { injectorConfigShape } from '@leadsman/injector/config';
import { nodeAgentConfigShape } from '@leadsman/node-agent';
import { pickerConfigShape } from '@leadsman/picker';
import { environmentName, readConfig } from '@leadsman/service';
import { sidecarConfigShape } from '@leadsman/sidecar';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type Manifest, renderChart } from './cluster.ts';

const shapes = {
  'picker.mjs': pickerConfigShape,
  'collector.mjs': collectorConfigShape,
  'node-agent.mjs': nodeAgentConfigShape,
  'injector.mjs': injectorConfigShape,
  'sidecar.mjs': sidecarConfigShape,
};

interface EnvVar {
  readonly name: string;
  readonly value?: string;
}

/** What the downward API would put in. */
const byDownwardApi: Record<string, string> = {
  LEADSMAN_POD_UID: '7b7c2f2e-0000-4000-8000-000000000001',
  LEADSMAN_POD_IP: '10.0.0.1',
  LEADSMAN_HOST_IP: '10.0.1.1',
};

function check(file: string, variables: readonly EnvVar[]): void {
  const shape = shapes[file as keyof typeof shapes];
  expect(shape, `no process ${file}`).toBeDefined();
  const known = Object.keys(shape.shape).map(environmentName);
  const env: Record<string, string> = {};
  for (const { name, value } of variables) {
    if (ofTheAllocator.has(name)) continue;
    expect(known, `${file} knows no ${name}`).toContain(name);
    env[name] = value ?? byDownwardApi[name] ?? 'by-downward-api';
  }
  expect(() => readConfig(shape, { argv: [], env, name: file })).not.toThrow();
}

/** Read by the C library, before anything of ours. */
const ofTheAllocator = new Set(['MALLOC_ARENA_MAX']);

function checkAll(manifests: readonly Manifest[]): string[] {
  const seen: string[] = [];
  for (const { kind, spec, data } of manifests) {
    for (const container of spec?.template?.spec?.containers ?? []) {
      if (container.name === 'nats') continue;
      // Options of Node may stand before the program.
      const program: string = container.args.find((arg: string) => arg.startsWith('/app/'));
      const file = program.replace('/app/', '');
      check(file, container.env);
      seen.push(file);
    }
    if (kind !== 'ConfigMap' || data['sidecar.yaml'] === undefined) continue;
    const template = readSidecarTemplate(parse(data['sidecar.yaml']), 'chart');
    const annotations = {
      'leadsman.dev/port': '8000',
      'leadsman.dev/path': '/metrics',
      'leadsman.dev/scheme': 'http',
      'leadsman.dev/engine': 'vllm',
      'leadsman.dev/token-file': '/token',
    };
    const pod = { metadata: { annotations }, spec: { containers: [{ name: 'engine' }] } };
    const [sidecar] = mutatePod(pod, { template }).pod.spec?.initContainers ?? [];
    check('sidecar.mjs', sidecar?.env ?? []);
    seen.push('sidecar.mjs');
  }
  return seen.sort();
}

describe('the settings that the chart makes', () => {
  it.each([
    ['by default', {}],
    [
      'with NATS',
      {
        nats: {
          url: 'nats://nats:4222',
          credentialsSecret: 'a',
          tlsCaSecret: 'b',
          sidecarCredentialsSecret: 'c',
        },
      },
    ],
    [
      'with a user of another NATS',
      { nats: { url: 'nats://nats:4222', user: 'picker', credentialsSecret: 'a' } },
    ],
    ['with a NATS of its own', { nats: { enabled: true } }],
    ['with a collector between', { collector: { endpointMetrics: true } }],
    [
      'with cert-manager and a node exporter',
      {
        injector: {
          certificate: { source: 'certManager', certManager: { issuerRef: { name: 'x' } } },
        },
        exporter: { mode: 'node' },
      },
    ],
    [
      'with an agent Service and a strategy file',
      {
        agent: { expose: 'service' },
        picker: {
          config: { a: 1 },
          tls: { secretName: 't' },
          inferenceClass: 'c',
          namespaces: ['chat', 'code'],
        },
      },
    ],
  ])('%s are known to every process', async (_, values) => {
    const all = { collector: { enabled: true }, ...values };
    const collector = { ...(values as { collector?: object }).collector, enabled: true };
    const manifests = await renderChart({ name: 'lm', namespace: 'n' }, { ...all, collector });
    expect(checkAll(manifests)).toEqual(Object.keys(shapes).sort());
  });

  it('with agents that scrape are known, too', async () => {
    const values = { exporter: { mode: 'agent-scrape' } };
    expect(checkAll(await renderChart({ name: 'lm', namespace: 'n' }, values))).toEqual([
      'node-agent.mjs',
      'picker.mjs',
      'sidecar.mjs',
    ]);
  });

  it('without a collector are known, too', async () => {
    expect(checkAll(await renderChart({ name: 'lm', namespace: 'n' }))).not.toContain(
      'collector.mjs',
    );
  });
});
