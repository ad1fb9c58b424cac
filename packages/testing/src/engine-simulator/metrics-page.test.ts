import { describe, expect, it } from 'vitest';
import { expositionNumber } from './exposition-number.ts';
import { type EngineSimulatorOptions, startEngineSimulator } from './simulator.ts';

async function pageOf(options: EngineSimulatorOptions): Promise<string> {
  const engine = await startEngineSimulator(options);
  const page = engine.page().toString();
  await engine.stop();
  return page;
}

function families(page: string): string[] {
  return [...page.matchAll(/^# TYPE (\S+) /gm)].map((match) => match[1]!);
}

describe('the metrics page', () => {
  it('is as large as that of a real engine', async () => {
    expect((await pageOf({})).length).toBeGreaterThan(40_000);
    expect((await pageOf({ ranks: 4 })).length).toBeGreaterThan(140_000);
  });

  it('has help, type and samples of each family together, and each family once', async () => {
    const page = await pageOf({ ranks: 2, sleepMode: true, adapters: ['a'] });
    const names = families(page);
    expect(new Set(names).size).toBe(names.length);
    let family = '';
    for (const line of page.trimEnd().split('\n')) {
      if (line.startsWith('# TYPE ')) family = line.split(' ')[2]!;
      else if (!line.startsWith('#')) {
        expect(line).toMatch(/^[a-z_:0-9]+(\{([a-z_]+="[^"]*",?)+\})? \S+$/);
        expect(line.startsWith(family)).toBe(true);
      }
    }
  });

  it('names things as the generation does', async () => {
    const v1 = await pageOf({ modelName: 'm' });
    expect(v1).toContain('vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.0\n');
    expect(v1).not.toContain('gpu_cache_usage_perc');
    const v0 = await pageOf({ modelName: 'm', metricsGeneration: 'v0' });
    expect(v0).toContain('vllm:gpu_cache_usage_perc{model_name="m"} 0.0\n');
    expect(v0).toContain('vllm:num_requests_swapped{model_name="m"} 0.0\n');
    expect(v0).not.toContain('engine=');
  });

  it('has a series per rank', async () => {
    const page = await pageOf({ ranks: 3 });
    expect(page.match(/^vllm:num_requests_running\{/gm)).toHaveLength(3);
    expect(page.match(/^vllm:cache_config_info\{.*engine="2"/gm)).toHaveLength(1);
  });

  it('shows adapters as a label with a time, and the sleep state as a set', async () => {
    const page = await pageOf({ sleepMode: true, adapters: ['sql'], nowUnixMs: () => 1_500 });
    expect(page).toContain(
      'vllm:lora_requests_info{max_lora="4",running_lora_adapters="",waiting_lora_adapters=""} 1.5\n',
    );
    expect(page).toMatch(/engine_sleep_state\{.*sleep_state="awake"\} 1\.0\n/);
    expect(page).toMatch(/engine_sleep_state\{.*sleep_state="discard_all"\} 0\.0\n/);
  });

  it('is rendered once as long as nothing changes', async () => {
    const engine = await startEngineSimulator();
    expect(engine.page()).toBe(engine.page());
    await engine.stop();
  });
});

describe('expositionNumber', () => {
  it.each([
    [0, '0.0'],
    [17, '17.0'],
    [0.25, '0.25'],
    [999_999, '999999.0'],
    [1_048_576, '1.048576e+06'],
    [1_000_000, '1e+06'],
    [1_762_438_423.04, '1.76243842304e+09'],
    [8_982_228_992, '8.982228992e+09'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NaN, 'NaN'],
    [-1, '-1.0'],
  ])('prints %d as %s', (value, text) => {
    expect(expositionNumber(value)).toBe(text);
  });
});
