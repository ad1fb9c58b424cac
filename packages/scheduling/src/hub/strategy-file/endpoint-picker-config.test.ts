/** The Go pickers' configuration file, as their users have it. */
import { describe, expect, it } from 'vitest';
import { counterparts } from './plugin-counterparts.ts';
import { parseStrategyFile } from './strategy-file.ts';
import { StrategyFileError } from './strategy-file-error.ts';

const head = 'apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\n';

async function parse(text: string) {
  return parseStrategyFile(head + text, 'epp.yaml', async () => ({ problem: 'none' }));
}

describe('an EndpointPickerConfig', () => {
  it('becomes scorers with its weights, a pick, limits and fallbacks', async () => {
    const { config, warnings } = await parse(`
plugins:
- type: queue-scorer
- name: kv
  type: kv-cache-utilization-scorer
- type: prefix-cache-scorer
  parameters: { blockSizeTokens: 64, lruCapacityPerServer: 31250 }
- type: by-label
  parameters: { label: zone, validValues: [a, b], allowsNoLabel: true }
- type: max-score-picker
  parameters: { maxNumOfEndpoints: 3 }
- type: single-profile-handler
schedulingProfiles:
- name: default
  plugins:
  - pluginRef: queue-scorer
    weight: 2
  - pluginRef: kv
    weight: 2
  - pluginRef: prefix-cache-scorer
    weight: 3
  - pluginRef: by-label
  - pluginRef: max-score-picker
saturationDetector: { queueDepthThreshold: 8, kvCacheUtilThreshold: 0.9 }
featureGates: []
`);
    expect(config.default).toMatchObject({
      choice: {
        scorers: [
          { type: 'queue', weight: 2 },
          { type: 'kv', weight: 2 },
          { type: 'prefix', weight: 3 },
        ],
        pick: { type: 'max-score' },
      },
      filters: [{ type: 'label', parameters: { label: 'zone', allowUnlabeled: true } }],
      saturation: { queueRequests: 8, kvCacheUsageRatio: 0.9 },
      fallbacks: 2,
    });
    expect(warnings).toEqual([
      'prefix-cache-scorer: parameter blockSizeTokens has no counterpart and is ignored',
      'prefix-cache-scorer: parameter lruCapacityPerServer has no counterpart and is ignored',
    ]);
  });

  it('without a profile uses all its plugins', async () => {
    const { config } = await parse('plugins:\n- type: queue-scorer\n- type: random-picker\n');
    expect(config.default.choice).toEqual({
      scorers: [{ type: 'queue', parameters: {}, weight: 1 }],
      pick: { type: 'random', parameters: {} },
    });
  });

  it('is refused with the known names when it names a plugin that has no counterpart', async () => {
    const refused = parse(`plugins:
- type: queue-scorer
- type: precise-prefix-cache-scorer
schedulingProfiles:
- plugins:
  - pluginRef: nobody
- plugins: []
`);
    await expect(refused).rejects.toThrow(StrategyFileError);
    await expect(refused).rejects.toThrow(
      /epp\.yaml:5: plugins\[1\]\.type: unknown plugin "precise-prefix-cache-scorer"; known: active-/,
    );
    await expect(refused).rejects.toThrow(/epp\.yaml:8: .*no plugin is called "nobody"/);
    await expect(refused).rejects.toThrow(/epp\.yaml:9: .*only one scheduling profile/);
  });

  it.each(Object.keys(counterparts))('may name %s', async (type) => {
    const needs: Record<string, string> = {
      'by-label': '\n  parameters: { label: zone }',
      'by-label-selector': '\n  parameters: { matchLabels: { zone: a } }',
    };
    const { config } = await parse(`plugins:\n- type: ${type}${needs[type] ?? ''}\n`);
    expect(config.default).toBeDefined();
  });
});
