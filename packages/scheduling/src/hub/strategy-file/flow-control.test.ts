/** Flow control in both forms of the strategy file. */
import { describe, expect, it } from 'vitest';
import { parseStrategyFile } from './strategy-file.ts';

const parse = (text: string) =>
  parseStrategyFile(text, 'file.yaml', async () => ({ problem: 'none' }));
const foreign = (text: string) =>
  parse(`kind: EndpointPickerConfig\nplugins:\n- type: queue-scorer\n${text}`);

describe('in our own form', () => {
  it('is off unless it is asked for', async () => {
    expect((await parse('')).config.default.flowControl).toBeUndefined();
    const off = await parse('default: {flowControl: {enabled: false, requestsMax: 5}}');
    expect(off.config.default.flowControl).toBeUndefined();
  });

  it('fills in what is missing: bands from those they stand under', async () => {
    const { config } = await parse(`
default:
  flowControl:
    band: {ttlMs: 30000, ordering: shortest}
    sheddableBand: {ttlMs: 5000}
    bands:
    - {priority: 10, ordering: edf, floorShare: 0.1}
    - {priority: -5, requestsMax: 7}
    weights: {gold: 3}
`);
    const { flowControl } = config.default;
    expect(flowControl).toMatchObject({
      header: 'x-llm-d-inference-fairness-id',
      noEndpointTtlMs: 0,
      weights: { gold: 3 },
      band: { ttlMs: 30_000, ordering: 'shortest', requestsMax: 5_000, bytesMax: 1e9 },
      sheddableBand: { ttlMs: 5_000, ordering: 'shortest' },
      bands: [
        { priority: 10, ttlMs: 30_000, ordering: 'edf', floorShare: 0.1 },
        { priority: -5, ttlMs: 5_000, ordering: 'shortest', requestsMax: 7 },
      ],
    });
  });

  it('is inherited whole, and can be switched off for one pool', async () => {
    const { config } = await parse(`
default: {flowControl: {requestsMax: 9}}
pools:
  a: {strategy: random}
  b: {flowControl: {enabled: false}}
`);
    expect(config.pools.a!.flowControl?.requestsMax).toBe(9);
    expect(config.pools.b!.flowControl).toBeUndefined();
  });

  it.each([
    ['{bands: [{priority: 1}, {priority: 1}]}', /priority 1 stands twice/],
    ['{band: {ordering: lifo}}', /ordering/],
    ['{weights: {a: 0}}', /weights/],
    ['{gate: {kvCacheUsageRatio: 2}}', /kvCacheUsageRatio/],
    ['{ttl: 5}', /unknown field/],
  ])('refuses %s', async (text, message) => {
    await expect(parse(`default: {flowControl: ${text}}`)).rejects.toThrow(message);
  });
});

describe('in an EndpointPickerConfig', () => {
  it('is on with its feature gate, with the defaults of its users', async () => {
    const { config, warnings } = await foreign('featureGates: [flowControl]\n');
    expect(config.default.flowControl).toMatchObject({
      noEndpointTtlMs: 60_000,
      band: { ttlMs: 60_000, requestsMax: 5_000, bytesMax: 1e9, ordering: 'fcfs' },
    });
    expect(warnings).toEqual([]);
  });

  it('is off without the gate, and says so', async () => {
    const { config, warnings } = await foreign('flowControl: {maxRequests: 5}\n');
    expect(config.default.flowControl).toBeUndefined();
    expect(warnings).toEqual(['flowControl is ignored without its feature gate']);
  });

  it('names gates that mean nothing here', async () => {
    const { warnings } = await foreign('featureGates: [dataLayer]\n');
    expect(warnings).toEqual(['feature gate dataLayer has no counterpart']);
  });

  it('takes over bounds, times, bands, orders and the stated concurrency', async () => {
    const { config, warnings } = await foreign(`
- name: deadline
  type: edf-ordering-policy
- type: concurrency-detector
  parameters: {maxConcurrency: 48}
featureGates: [flowControl]
flowControl:
  maxBytes: 5000000
  maxRequests: 0
  defaultRequestTTL: 1m30s
  noEndpointRequestTTL: 250ms
  defaultPriorityBand: {maxRequests: 50, orderingPolicyRef: deadline}
  defaultNegativePriorityBand: {maxBytes: 9000}
  priorityBands:
  - {priority: 100, maxRequests: 7, fairnessPolicyRef: round-robin-fairness-policy}
  saturationDetector: {pluginRef: concurrency-detector}
`);
    expect(config.default.flowControl).toMatchObject({
      bytesMax: 5_000_000,
      requestsMax: 10_000,
      noEndpointTtlMs: 250,
      gate: { batchRequests: 48 },
      band: { ttlMs: 90_000, requestsMax: 50, ordering: 'edf' },
      sheddableBand: { ttlMs: 90_000, bytesMax: 9_000, ordering: 'edf' },
      bands: [{ priority: 100, requestsMax: 7, ttlMs: 90_000 }],
    });
    expect(warnings).toEqual([
      'round-robin-fairness-policy: flows share by tokens here, not by turns',
    ]);
  });

  it('waits without end for 0s', async () => {
    const { config } = await foreign(
      'featureGates: [flowControl]\nflowControl: {defaultRequestTTL: 0s}\n',
    );
    expect(config.default.flowControl!.band.ttlMs).toBe(0);
  });

  it.each([
    ['{enableEviction: true}', /enableEviction: running requests are not evicted here/],
    ['{usageLimitPolicyPluginRef: priority-holdback}', /"priority-holdback" has no counterpart/],
    ['{saturationDetector: {pluginRef: guess}}', /"guess" has no counterpart/],
    ['{defaultRequestTTL: soon}', /"soon" is no duration/],
    [
      '{defaultPriorityBand: {fairnessPolicyRef: global-strict-fairness-policy}}',
      /defaultPriorityBand\.fairnessPolicyRef: "global-strict-fairness-policy" has no counterpart/,
    ],
    [
      '{priorityBands: [{priority: 1, orderingPolicyRef: lifo}]}',
      /priorityBands\[0\]\.orderingPolicyRef: "lifo" has no counterpart/,
    ],
  ])('refuses %s', async (text, message) => {
    const file = `featureGates: [flowControl]\nflowControl: ${text}\n`;
    await expect(foreign(file)).rejects.toThrow(message);
  });
});
