import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { sidecarTemplateShape } from '@leadsman/injector';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { injectCommand } from './inject.ts';
import { injectManifest, ManifestError } from './inject-manifest.ts';

const template = sidecarTemplateShape.parse({ image: 'leadsman:1' });
const inject = (text: string, replace = false) => injectManifest(text, { template, replace });

const deployment = `# serves the chat model
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat # keep
spec:
  replicas: 2
  template:
    metadata:
      labels: {app: chat}
    spec:
      containers:
      - name: engine
        image: "vllm"
        args: ["--model", 'some/model'] # as it is
        ports:
        - containerPort: 8000
`;
const service = `apiVersion: v1
kind: Service
metadata: {name: chat}
spec: {ports: [{port: 80}]}
`;

describe('a manifest', () => {
  it('keeps its comments, order and style, and gains only the sidecar', () => {
    const { text, reports } = inject(`${deployment}---\n${service}`);
    expect(reports).toEqual([{ subject: 'Deployment chat', outcome: 'injected', notes: [] }]);
    // One line is another: the label that network policies ask for.
    const kept = text.replace(/, leadsman.dev\/sidecar: "true"(?=\s*\})/, '').split('\n');
    for (const line of deployment.trimEnd().split('\n')) expect(kept).toContain(line);
    expect(text).toContain('# serves the chat model');
    expect(text).toContain('      initContainers:\n      - name: leadsman-sidecar\n');
    const [first, second] = parseAllDocuments(text);
    expect(first?.toJS().spec.template.metadata.annotations).toEqual({
      'leadsman.dev/injected': 'sidecar',
    });
    expect(second?.toJS().kind).toBe('Service');
  });

  it('is the same after a second time', () => {
    const once = inject(deployment).text;
    const twice = inject(once);
    expect(twice.text).toBe(once);
    expect(twice.reports[0]?.outcome).toBe('present');
  });

  it('gets the sidecar of a newer template when asked to replace it', () => {
    const once = inject(deployment).text;
    const newer = { ...template, image: 'leadsman:2' };
    const { text } = injectManifest(once, { template: newer, replace: true });
    expect(text.match(/name: leadsman-sidecar/g)).toHaveLength(1);
    expect(text).toContain('image: leadsman:2');
    expect(text).not.toContain('image: leadsman:1');
  });

  it('without pods comes back byte by byte', () => {
    const odd = `a:   [1,   2]\n---\n\n${service}`;
    expect(inject(odd)).toEqual({ text: odd, reports: [] });
    expect(inject('').text).toBe('');
  });

  it.each([
    ['a bare pod', 'kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: e}]}\n', 'Pod p'],
    ['a stateful set', deployment.replace('Deployment', 'StatefulSet'), 'StatefulSet chat'],
    [
      'a leader-worker set, whose leader serves',
      'kind: LeaderWorkerSet\nmetadata: {name: l}\nspec: {leaderWorkerTemplate: {leaderTemplate: {spec: {containers: [{name: e}]}}, workerTemplate: {spec: {containers: [{name: w}]}}}}\n',
      'LeaderWorkerSet l (leaderTemplate)',
    ],
    [
      'a leader-worker set with one template',
      'kind: LeaderWorkerSet\nmetadata: {name: l}\nspec: {leaderWorkerTemplate: {workerTemplate: {spec: {containers: [{name: w}]}}}}\n',
      'LeaderWorkerSet l (workerTemplate)',
    ],
    [
      'a list',
      'kind: List\nitems:\n- kind: Pod\n  metadata: {name: p}\n  spec: {containers: [{name: e}]}\n- kind: Service\n',
      'Pod p',
    ],
  ])('knows the pods of %s', (_, text, subject) => {
    const result = inject(text);
    expect(result.reports).toEqual([{ subject, outcome: 'injected', notes: [] }]);
    expect(result.text.match(/leadsman-sidecar/g)).toHaveLength(1);
  });

  it('says why a pod is left as it is, and what it did not understand', () => {
    const host = deployment.replace('    spec:\n', '    spec:\n      hostNetwork: true\n');
    expect(inject(host)).toMatchObject({ text: host, reports: [{ outcome: 'host_network' }] });
    const odd = deployment.replace('labels:', 'annotations: {leadsman.dev/port: x}\n      labels:');
    expect(inject(odd).reports[0]?.notes[0]).toContain('leadsman.dev/port');
  });

  it('that is no YAML is refused with the place', () => {
    expect(() => inject('a: [1,\nb: }')).toThrow(ManifestError);
  });
});

describe('the command', () => {
  async function run(args: string[], stdin = '') {
    let out = '';
    let warnings = '';
    const command = injectCommand({
      stdin: Readable.from([stdin]),
      write: (text) => {
        out += text;
      },
      warn: (text) => {
        warnings += text;
      },
    }).exitOverride();
    await command.parseAsync(args, { from: 'user' });
    return { out, warnings };
  }

  it('reads files and standard input and writes one stream of documents', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'leadsman-inject-'));
    const file = join(folder, 'service.yaml');
    await writeFile(file, service);
    const { out, warnings } = await run(
      ['-f', file, '-', '--image', 'mine:3', '--nats-url', 'nats://n:4222'],
      deployment,
    );
    const [first, second] = parseAllDocuments(out).map((document) => document.toJS());
    expect(first.kind).toBe('Service');
    const [sidecar] = second.spec.template.spec.initContainers;
    expect(sidecar.image).toBe('mine:3');
    expect(sidecar.env).toContainEqual({ name: 'LEADSMAN_NATS_URL', value: 'nats://n:4222' });
    expect(warnings).toContain('-: Deployment chat: injected');
    expect(warnings).toContain('nothing here makes pods');
  });
});
