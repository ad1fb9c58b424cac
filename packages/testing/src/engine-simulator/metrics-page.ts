/**
 * The text of a simulated engine's `/metrics`: what the Python process says of itself, then the
 * engine's families, its configuration, adapters and sleep state, then the web server's families.
 *
 * Everything but the numbers is laid out once. A page is rendered anew only when a rank has moved
 * since the last one, so a hundred scrapes of an idle engine cost one rendering.
 */
import { expositionNumber } from './exposition-number.ts';
import type { Histogram } from './histogram.ts';
import { boundText, familyHead, formatLabels } from './labels.ts';
import { adapterFamily, httpFamilies, type PageState } from './page-state.ts';
import type { Rank } from './rank.ts';
import { type PageSample, selectLines, selectSamples } from './select-series.ts';
import { type Family, v0Families, v1Families } from './vllm-families.ts';

export type MetricsGeneration = 'v1' | 'v0';

export interface PageOptions {
  generation: MetricsGeneration;
  modelName: string;
  ranks: readonly Rank[];
  startedUnixMs: number;
  state: PageState;
}

type Slot = () => number;

/** Selections that are kept; a scraper asks for one. */
const selectionsMax = 8;

export class MetricsPage {
  readonly #options: PageOptions;
  /** texts[i] stands before slots[i]; one more text than slots. */
  readonly #texts: string[] = [''];
  readonly #slots: Slot[] = [];
  readonly #samples: PageSample[] = [];
  #lastHead = '';
  /** Selections by the names that were asked for. */
  readonly #selections = new Map<string, () => string>();
  #cached: Buffer | undefined;
  #cachedRevision = -1;

  constructor(options: PageOptions) {
    this.#options = options;
    this.#processFamilies();
    const families = options.generation === 'v1' ? v1Families : v0Families;
    for (const family of families) this.#family(family);
    this.#cacheConfig();
  }

  /** The page as of now. The buffer is shared: it must not be written to. */
  render(): Buffer {
    const { ranks, state } = this.#options;
    let revision = state.revision;
    for (const rank of ranks) revision += rank.revision;
    if (this.#cached !== undefined && revision === this.#cachedRevision) return this.#cached;
    let text = this.#texts[0]!;
    for (let i = 0; i < this.#slots.length; i++) {
      text += expositionNumber(this.#slots[i]!()) + this.#texts[i + 1]!;
    }
    text += this.#changingFamilies();
    this.#cached = Buffer.from(text);
    this.#cachedRevision = revision;
    return this.#cached;
  }

  /** The samples of these names, as of now; costs what they cost, not what the page does. */
  renderSelection(names: ReadonlySet<string>): Buffer {
    const key = [...names].join(' ');
    let selection = this.#selections.get(key);
    if (selection === undefined) {
      if (this.#selections.size === selectionsMax) this.#selections.clear();
      selection = selectSamples(this.#samples, names);
      this.#selections.set(key, selection);
    }
    return Buffer.from(selection() + selectLines(this.#changingFamilies(), names));
  }

  /** Families whose series come and go. */
  #changingFamilies(): string {
    const { state } = this.#options;
    return this.#sleepFamily() + adapterFamily(state) + httpFamilies(state);
  }

  #text(text: string): void {
    this.#texts[this.#texts.length - 1]! += text;
  }

  #sample(name: string, labels: Readonly<Record<string, string>>, slot: Slot): void {
    const line = `${name}${formatLabels(labels)} `;
    this.#samples.push({ name, head: this.#lastHead, line, value: slot });
    this.#text(line);
    this.#slots.push(slot);
    this.#texts.push('\n');
  }

  #head(name: string, type: string, help: string): void {
    this.#lastHead = familyHead(name, type, help);
    this.#text(this.#lastHead);
  }

  #processFamilies(): void {
    const collections = ['objects_collected', 'objects_uncollectable', 'collections'];
    for (const [i, what] of collections.entries()) {
      const name = `python_gc_${what}_total`;
      this.#head(name, 'counter', `Garbage collector of the simulated Python: ${what}.`);
      for (const generation of ['0', '1', '2']) {
        const value = i === 1 ? 0 : 1000 * (i + 1) + Number(generation);
        this.#sample(name, { generation }, () => value);
      }
    }
    this.#head('python_info', 'gauge', 'Which Python the simulated engine runs on.');
    const info = { implementation: 'CPython', major: '3', minor: '12', patchlevel: '11' };
    this.#sample('python_info', { ...info, version: '3.12.11' }, () => 1);
    const process: [string, string, Slot][] = [
      ['virtual_memory_bytes', 'gauge', () => 8_982_228_992],
      ['resident_memory_bytes', 'gauge', () => 1_089_290_240],
      ['start_time_seconds', 'gauge', () => Math.round(this.#options.startedUnixMs / 10) / 100],
      ['cpu_seconds_total', 'counter', () => 11.25],
      ['open_fds', 'gauge', () => 45],
      ['max_fds', 'gauge', () => 1_048_576],
    ];
    for (const [what, type, slot] of process) {
      const name = `process_${what}`;
      this.#head(name, type, `Of the simulated process: ${what.replaceAll('_', ' ')}.`);
      this.#sample(name, {}, slot);
    }
  }

  #family(family: Family): void {
    this.#head(family.name, family.type, family.help);
    const { ranks } = this.#options;
    const created: Readonly<Record<string, string>>[] = [];
    for (const [index, rank] of ranks.entries()) {
      if (family.type === 'histogram') {
        this.#histogram(family.name, this.#labels(index), rank.statistics[family.histogram]);
        created.push(this.#labels(index));
        continue;
      }
      for (const { labels = {}, value } of family.series) {
        const all = this.#labels(index, labels);
        this.#sample(family.name, all, () => value(rank));
        created.push(all);
      }
    }
    if (family.type === 'gauge') return;
    const name = `${family.name.replace(/_total$/, '')}_created`;
    this.#head(name, 'gauge', family.help);
    for (const labels of created) {
      this.#sample(name, labels, () => this.#options.startedUnixMs / 1000);
    }
  }

  #histogram(name: string, labels: Readonly<Record<string, string>>, histogram: Histogram): void {
    for (const [i, bound] of histogram.bounds.entries()) {
      const all = { ...labels, le: boundText(bound) };
      this.#sample(`${name}_bucket`, all, () => histogram.cumulative[i]!);
    }
    this.#sample(`${name}_bucket`, { ...labels, le: '+Inf' }, () => histogram.count);
    this.#sample(`${name}_count`, labels, () => histogram.count);
    this.#sample(`${name}_sum`, labels, () => histogram.sum);
  }

  /** The labels that every series of a rank has, in the order in which vLLM prints them. */
  #labels(rank: number, extra: Readonly<Record<string, string>> = {}): Record<string, string> {
    const model = { model_name: this.#options.modelName };
    return this.#options.generation === 'v0'
      ? { ...extra, ...model }
      : { engine: String(rank), ...extra, ...model };
  }

  #cacheConfig(): void {
    const name = 'vllm:cache_config_info';
    this.#head(name, 'gauge', 'How the KV cache was configured, as labels.');
    for (const [index, { model }] of this.#options.ranks.entries()) {
      const { blockTokens, kvCapacityTokens } = model.parameters;
      const labels = {
        block_size: String(blockTokens),
        cache_dtype: 'auto',
        calculate_kv_scales: 'False',
        cpu_kvcache_space_bytes: 'None',
        cpu_offload_gb: '0.0',
        enable_prefix_caching: 'True',
        ...(this.#options.generation === 'v1' ? { engine: String(index) } : {}),
        gpu_memory_utilization: '0.9',
        is_attention_free: 'False',
        kv_cache_memory_bytes: 'None',
        num_cpu_blocks: 'None',
        num_gpu_blocks: String(Math.floor(kvCapacityTokens / blockTokens)),
        num_gpu_blocks_override: 'None',
        prefix_caching_hash_algo: 'sha256',
        sliding_window: 'None',
        swap_space: '4.0',
        swap_space_bytes: '4294967296.0',
      };
      this.#sample(name, labels, () => 1);
    }
  }

  #sleepFamily(): string {
    const { sleep } = this.#options.state;
    if (sleep === undefined || this.#options.generation === 'v0') return '';
    const name = 'vllm:engine_sleep_state';
    let text = familyHead(name, 'gauge', 'Whether the engine is awake or how deep it sleeps.');
    for (const index of this.#options.ranks.keys()) {
      for (const state of ['awake', 'weights_offloaded', 'discard_all']) {
        const labels = formatLabels({ ...this.#labels(index), sleep_state: state });
        text += `${name}${labels} ${state === sleep ? '1.0' : '0.0'}\n`;
      }
    }
    return text;
  }
}
