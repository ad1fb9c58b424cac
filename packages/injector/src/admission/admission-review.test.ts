import { describe, expect, it } from 'vitest';
import { sidecarTemplateShape } from '../mutate/sidecar-template.ts';
import { review } from './admission-review.ts';

const template = sidecarTemplateShape.parse({ image: 'leadsman:test' });
const poolPorts = (namespace: string, labels: Readonly<Record<string, string>>) =>
  namespace === 'models' && labels.app === 'llm' ? [9000] : undefined;

const requestOf = (pod: unknown, more: object = {}) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'review-1',
    operation: 'CREATE',
    namespace: 'models',
    resource: { group: '', version: 'v1', resource: 'pods' },
    object: pod,
    ...more,
  },
});
const podWith = (labels: Record<string, string>, annotations = {}) => ({
  metadata: { generateName: 'llm-', labels, annotations },
  spec: { containers: [{ name: 'engine', image: 'vllm' }] },
});
const ask = (body: unknown) => review(body, { template, poolPorts });

interface Answer {
  response: {
    uid: string;
    allowed: boolean;
    patch?: string;
    patchType?: string;
    warnings?: string[];
  };
}
const responseOf = (body: unknown) => (ask(body)!.answer as unknown as Answer).response;
const patchOf = (body: unknown) =>
  JSON.parse(Buffer.from(responseOf(body).patch ?? 'W10=', 'base64').toString()) as {
    path: string;
    value: unknown;
  }[];

describe('a review', () => {
  it('of a labelled pod adds the sidecar', () => {
    const body = requestOf(podWith({ 'leadsman.dev/inject': 'true' }), { namespace: 'other' });
    expect(ask(body)).toMatchObject({ outcome: 'injected', pod: 'other/llm-*' });
    expect(responseOf(body)).toMatchObject({
      uid: 'review-1',
      allowed: true,
      patchType: 'JSONPatch',
    });
    expect(patchOf(body).map((step) => step.path)).toEqual([
      '/metadata/labels/leadsman.dev~1sidecar',
      '/metadata/annotations/leadsman.dev~1injected',
      '/spec/initContainers',
    ]);
  });

  it('of a pod that a pool selects adds it with the ports of the pool', () => {
    const [, , step] = patchOf(requestOf(podWith({ app: 'llm' })));
    expect(JSON.stringify(step?.value)).toContain('"LEADSMAN_ENGINE_PORTS","value":"9000"');
  });

  it.each([
    ['nobody asked for it', podWith({ app: 'web' }), {}, 'not_asked_for'],
    [
      'the pod refuses although a pool selects it',
      podWith({ app: 'llm', 'leadsman.dev/inject': 'false' }),
      {},
      'opted_out',
    ],
    [
      'it is an update',
      podWith({ 'leadsman.dev/inject': 'true' }),
      { operation: 'UPDATE' },
      'not_a_pod_creation',
    ],
    [
      'it is another resource',
      podWith({ 'leadsman.dev/inject': 'true' }),
      { resource: { group: 'apps', resource: 'deployments' } },
      'not_a_pod_creation',
    ],
    [
      'it is a subresource',
      podWith({ 'leadsman.dev/inject': 'true' }),
      { subResource: 'status' },
      'not_a_pod_creation',
    ],
    ['there is no object', undefined, {}, 'not_a_pod_creation'],
    [
      'the pod makes no sense',
      { metadata: { labels: { 'leadsman.dev/inject': 'true' } }, spec: { containers: 7 } },
      {},
      'fault',
    ],
    [
      'the pod makes even less sense',
      { metadata: { labels: { 'leadsman.dev/inject': 'true' } }, spec: { containers: [null] } },
      {},
      'fault',
    ],
  ])('allows the pod as it is when %s', (_, pod, more, outcome) => {
    const body = requestOf(pod, more);
    expect(ask(body)?.outcome).toBe(outcome);
    expect(responseOf(body)).toMatchObject({ allowed: true });
    expect(responseOf(body).patch).toBeUndefined();
  });

  it('warns whoever creates a pod with annotations that cannot be used', () => {
    const body = requestOf(
      podWith({ 'leadsman.dev/inject': 'true' }, { 'leadsman.dev/scheme': 'gopher' }),
    );
    expect(responseOf(body).warnings?.[0]).toContain('leadsman.dev/scheme');
  });

  it('that is none is refused', () => {
    for (const body of [null, 7, [], {}, { request: {} }]) expect(ask(body)).toBeUndefined();
  });
});
