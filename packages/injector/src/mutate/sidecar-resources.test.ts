import { expect, it } from 'vitest';
import type { Container, Pod } from './pod.ts';
import { sidecarResources } from './sidecar-resources.ts';
import { quantityValue, sidecarTemplateShape } from './sidecar-template.ts';

const template = sidecarTemplateShape.parse({ image: 'i' });
const podOf = (...resources: object[]): Pod => ({
  spec: { containers: resources.map((one, i): Container => ({ name: `c${i}`, resources: one })) },
});
const cpuAndMemory = { cpu: '4', memory: '16Gi' };

it('are those of the template beside containers without bounds', () => {
  const own = { requests: { cpu: '20m', memory: '96Mi' }, limits: { memory: '192Mi' } };
  expect(sidecarResources(podOf({}), template)).toEqual(own);
  // One of two containers without a limit: no quota can demand it.
  expect(sidecarResources(podOf({ limits: cpuAndMemory }, {}), template)).toEqual(own);
  expect(sidecarResources({ spec: { containers: [] } }, template)).toEqual(own);
});

it('have each bound that all containers have, since a quota may demand it', () => {
  const bound = { limits: { cpu: 8, 'ephemeral-storage': '1Gi' }, requests: { cpu: '1' } };
  expect(sidecarResources(podOf(bound, bound), template)).toEqual({
    requests: { cpu: '20m', memory: '96Mi' },
    limits: { cpu: '100m', memory: '192Mi', 'ephemeral-storage': '64Mi' },
  });
});

it('keep the pod Guaranteed where it was', () => {
  const whole = { requests: { cpu: '4000m', memory: '16Gi' }, limits: cpuAndMemory };
  const { requests, limits } = sidecarResources(podOf(whole, { limits: cpuAndMemory }), template);
  expect(requests).toEqual(limits);
  expect(requests).toEqual({ cpu: '100m', memory: '192Mi' });
  const burstable = { requests: { cpu: '1', memory: '16Gi' }, limits: cpuAndMemory };
  expect(sidecarResources(podOf(burstable), template).requests.cpu).toBe('20m');
});

it('never have a request above the limit, whichever of the two was added', () => {
  const given = (resources: object) => sidecarTemplateShape.parse({ image: 'i', resources });
  const large = given({ requests: { cpu: '500m' }, limits: { memory: '64Mi' } });
  const bound = { requests: cpuAndMemory, limits: { cpu: '8', memory: '32Gi' } };
  expect(sidecarResources(podOf(bound), large)).toEqual({
    requests: { cpu: '500m', memory: '64Mi' },
    limits: { cpu: '500m', memory: '64Mi' },
  });
});

it('are none where the pod as a whole has resources', () => {
  const pod = podOf({ requests: cpuAndMemory });
  const spec = { ...pod.spec, resources: { requests: cpuAndMemory } };
  expect(sidecarResources({ spec }, template)).toEqual({ requests: {}, limits: {} });
});

it('of a template that no API server would take are refused', () => {
  const read = (resources: object) => sidecarTemplateShape.safeParse({ image: 'i', resources });
  expect(read({ requests: { memory: '1Gi' }, limits: { memory: '1000Mi' } }).success).toBe(false);
  expect(read({ requests: { memory: '1000Mi' }, limits: { memory: '1Gi' } }).success).toBe(true);
  expect(read({ limits: { 'nvidia.com/gpu': '1' } }).success).toBe(false);
});

it.each([
  ['100m', 0.1],
  ['1.5', 1.5],
  ['2k', 2_000],
  ['1Ki', 1_024],
  ['16Gi', 17_179_869_184],
  ['1Z', Number.NaN],
  ['', Number.NaN],
])('reads the quantity %s', (text, value) => {
  expect(quantityValue(text)).toEqual(value);
});
