import { metric } from '@leadsman/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineBytesMax, samplesOfNameMax } from '../exposition/samples.ts';
import { numberOf, readingOf } from '../read.fixture.ts';
import { finding } from './reading.ts';

const running = (engine: number, value: string) =>
  `vllm:num_requests_running{engine="${engine}",model_name="m"} ${value}`;
const waiting = (engine: number, value: string) =>
  `vllm:num_requests_waiting{engine="${engine}",model_name="m"} ${value}`;

describe('a loss inside a wanted family', () => {
  it.each([
    ['a decimal comma', waiting(1, '64,0')],
    ['digits in groups', waiting(1, '2_00')],
    ['a label list without its end', 'vllm:num_requests_waiting{engine="1" 64'],
    ['a line cut in its value', 'vllm:num_requests_waiting{engine="1",model_name="m"}'],
    ['a line beyond its bound', waiting(1, '64').replace('"m"', `"${'m'.repeat(lineBytesMax)}"`)],
  ])('makes the number unknown: %s', (_, line) => {
    const reading = readingOf([running(0, '1'), running(1, '1'), waiting(0, '0'), line]);
    expect(numberOf(reading, 'waitingRequests')).toBeNaN();
    expect(reading.findings[metric.waitingRequests]).toBe(finding.lost);
    expect(numberOf(reading, 'runningRequests')).toBe(2);
    expect(reading.ranks.every((rank) => Number.isNaN(rank.waitingRequests))).toBe(true);
  });

  it('is not made good by the older name of the number', () => {
    const reading = readingOf([
      'vllm:kv_cache_usage_perc{engine="0"} 0,91',
      'vllm:gpu_cache_usage_perc{engine="0"} 0.10',
    ]);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBeNaN();
    expect(numberOf(reading, 'kvCacheUsageMaxRatio')).toBeNaN();
  });

  it('makes the adapters unknown, as the missing line may be the newest', () => {
    const reading = readingOf([
      running(0, '1'),
      'vllm:lora_requests_info{max_lora="4",running_lora_adapters="a",waiting_lora_adapters=""} 7',
      'vllm:lora_requests_info{max_lora="4",running_lora_adapters="b" 9',
    ]);
    expect(reading.loraRunning).toBeUndefined();
    expect(numberOf(reading, 'loraSlotsMax')).toBeNaN();
  });

  it('is also a name in quotes that labels stand before, in any order of the elements', () => {
    const whole = readingOf([running(0, '0'), running(1, '64')]);
    const elements = ['"vllm:num_requests_running"', 'engine="1"', '"model_name"="m"', 'x=","'];
    fc.assert(
      fc.property(
        fc.shuffledSubarray(elements, { minLength: 4 }),
        fc.boolean(),
        (order, blanks) => {
          const list = order.join(blanks ? ' , ' : ',');
          const reading = readingOf([running(0, '0'), `{${list}} 64`], 'vllm');
          const value = numberOf(reading, 'runningRequests');
          expect(Number.isNaN(value) || value === numberOf(whole, 'runningRequests')).toBe(true);
        },
      ),
    );
    const other = readingOf([running(0, '3'), '{engine="1","vllm:num_requests_waiting"} 64']);
    expect(numberOf(other, 'waitingRequests')).toBeNaN();
    expect(numberOf(other, 'runningRequests')).toBe(3);
  });

  it('by too many series of one family leaves all others alone', () => {
    const many = Array.from(
      { length: samplesOfNameMax * 3 },
      (_, i) => `vllm:request_success_total{finished_reason="${i}"} 1`,
    );
    const reading = readingOf([
      ...many,
      running(0, '3'),
      'vllm:cache_config_info{block_size="16",num_gpu_blocks="10"} 1',
    ]);
    expect(numberOf(reading, 'requestsSuccessTotal')).toBeNaN();
    expect(numberOf(reading, 'runningRequests')).toBe(3);
    expect(numberOf(reading, 'kvCacheCapacityTokens')).toBe(160);
  });

  it('never gives a number that is smaller than the whole page gives', () => {
    const lines = [running(0, '3'), running(1, '4'), waiting(0, '5'), waiting(1, '6')];
    const whole = readingOf(lines);
    fc.assert(
      fc.property(
        fc.nat(lines.length - 1),
        fc.nat(200),
        fc.string({ maxLength: 3 }),
        (at, from, text) => {
          const line = lines[at]!;
          const cut = Math.min(from, line.length);
          const damaged = line.slice(0, cut) + text.replaceAll(/[\n0-9]/g, 'x') + line.slice(cut);
          const reading = readingOf(lines.with(at, damaged), 'vllm');
          for (const name of ['runningRequests', 'waitingRequests'] as const) {
            const value = numberOf(reading, name);
            // A damaged name is another family, and its rank is then missing from this one.
            expect(Number.isNaN(value) || value >= numberOf(whole, name)).toBe(true);
          }
        },
      ),
    );
  });
});

describe('ranks nobody knows', () => {
  it('do not multiply counts, whatever the engine, and are counted', () => {
    const lines = Array.from(
      { length: 8 },
      (_, i) => `vllm:num_requests_running{ep_rank="${i}"} 5`,
    );
    const reading = readingOf(lines);
    expect(numberOf(reading, 'runningRequests')).toBe(5);
    expect(reading.unknownRankLabels).toBe(8);
    const known = readingOf([
      'sglang:num_running_reqs{tp_rank="0"} 5',
      'sglang:num_running_reqs{tp_rank="1"} 5',
    ]);
    expect(numberOf(known, 'runningRequests')).toBe(5);
    expect(known.unknownRankLabels).toBe(0);
  });
});

describe('capacity', () => {
  const config = (labels: string) => `vllm:cache_config_info{${labels}} 1`;

  it('is what the engine states, not blocks by size', () => {
    const reading = readingOf([
      config('block_size="16",engine="0",kv_cache_size_tokens="96000",num_gpu_blocks="20000"'),
    ]);
    expect(numberOf(reading, 'kvCacheCapacityTokens')).toBe(96_000);
    expect(numberOf(reading, 'kvCapacityTokens')).toBe(96_000);
  });

  it('is blocks by size where the engine states none', () => {
    const reading = readingOf([
      config('block_size="16",kv_cache_size_tokens="None",num_gpu_blocks="20000"'),
    ]);
    expect(numberOf(reading, 'kvCacheCapacityTokens')).toBe(320_000);
    expect(numberOf(reading, 'kvCapacityTokens')).toBeNaN();
  });

  it('adds up what ranks state, and takes the sum that each of them shows once', () => {
    const each = (rank: number, size: string) =>
      config(`block_size="32",engine="${rank}",${size}num_gpu_blocks="640"`);
    const stated = readingOf([
      each(0, 'kv_cache_size_tokens="10240",'),
      each(1, 'kv_cache_size_tokens="10240",'),
    ]);
    expect(numberOf(stated, 'kvCacheCapacityTokens')).toBe(20_480);
    expect(numberOf(readingOf([each(0, ''), each(1, '')]), 'kvCacheCapacityTokens')).toBe(20_480);
  });
});

describe('hybrid models of SGLang', () => {
  it('use KV as full and sliding-window attention do, and state by itself', () => {
    const reading = readingOf([
      'sglang:token_usage 0.97',
      'sglang:full_token_usage 0.30',
      'sglang:swa_token_usage 0.12',
      'sglang:mamba_usage 0.97',
    ]);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.3);
    expect(numberOf(reading, 'stateUsageRatio')).toBe(0.97);
    expect(numberOf(readingOf(['sglang:token_usage 0.42']), 'kvCacheUsageRatio')).toBe(0.42);
  });

  it('add cached tokens up over their sources', () => {
    const reading = readingOf([
      'sglang:cached_tokens_total{cache_source="device"} 100',
      'sglang:cached_tokens_total{cache_source="host"} 20',
      'sglang:prompt_tokens_total 500',
    ]);
    expect(numberOf(reading, 'prefixCacheHitsTotal')).toBe(120);
    expect(numberOf(reading, 'prefixCacheQueriesTotal')).toBe(500);
  });
});

describe('sleep', () => {
  const state = (name: string, value: number) =>
    `vllm:engine_sleep_state{engine="0",sleep_state="${name}"} ${value}`;

  it('is also what an engine does of which no state is set', () => {
    const page = (awake: number, offloaded: number) => [
      state('awake', awake),
      state('weights_offloaded', offloaded),
      state('discard_all', 0),
    ];
    expect(readingOf(page(0, 0)).sleeping).toBe(true);
    expect(readingOf(page(0, 1)).sleeping).toBe(true);
    expect(readingOf(page(1, 0)).sleeping).toBe(false);
  });
});
