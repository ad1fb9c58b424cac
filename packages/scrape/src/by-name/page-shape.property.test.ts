import { metric } from '@leadsman/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PageReader } from '../page-reader.ts';
import { PageShape } from './page-shape.ts';

const reader = new PageReader();

function read(lines: readonly string[]) {
  const outcome = reader.read(Buffer.from(lines.map((line) => `${line}\n`).join('')), 'vllm');
  const shape = new PageShape();
  reader.readShape('vllm', shape);
  return { shape, metrics: 'reading' in outcome ? outcome.reading.metrics : undefined };
}

const rank = fc.nat(3).map((id) => `engine="${id}"`);
const other = fc.constantFrom('model_name="m"', 'model_name="n"', 'finished_reason="stop"');
const labels = fc
  .tuple(rank, fc.option(other))
  .map(([first, second]) => (second === null ? first : `${first},${second}`));
const name = fc.constantFrom(
  'vllm:num_requests_running',
  'vllm:num_requests_waiting',
  'vllm:kv_cache_usage_perc',
  'vllm:prompt_tokens_total',
  'vllm:request_success_total',
);
const series = fc.tuple(name, labels).map(([family, list]) => `${family}{${list}}`);
const page = fc.uniqueArray(series, { minLength: 1, maxLength: 24 });

describe('a page shape', () => {
  it('is of no page that has lost, gained or renamed a series', () => {
    fc.assert(
      fc.property(page, page, (one, two) => {
        const isSame = new Set([...one, ...two]).size === one.length && one.length === two.length;
        const shapes = [one, two].map((lines) => read(lines.map((line) => `${line} 1`)).shape);
        expect(shapes[0]?.equals(shapes[1] as PageShape)).toBe(isSame);
      }),
    );
  });

  it('does not depend on the order of series, nor on their numbers', () => {
    fc.assert(
      fc.property(page, fc.nat(), (lines, seed) => {
        const moved = lines.toSorted((left, right) => order(left, seed) - order(right, seed));
        const whole = read(lines.map((line) => `${line} 0.5`));
        const other = read(moved.map((line, i) => `${line} 0.${i}`));
        expect(other.shape.equals(whole.shape)).toBe(true);
      }),
    );
  });

  it('is of no page with less of any number', () => {
    fc.assert(
      fc.property(page, fc.array(fc.nat(23)), (lines, dropped) => {
        const numbered = lines.map((line, i) => `${line} ${line.includes('usage') ? 0.5 : i + 1}`);
        const whole = read(numbered);
        const part = read(numbered.filter((_, i) => !dropped.includes(i)));
        if (part.shape.equals(whole.shape)) expect(part.metrics).toEqual(whole.metrics);
        else expect(dropped.some((i) => i < lines.length)).toBe(true);
      }),
    );
  });

  it('knows which name is missing, and loss from absence', () => {
    const whole = read(['vllm:num_requests_running 1', 'vllm:num_requests_waiting 2']);
    const part = read(['vllm:num_requests_running 1']);
    const missing = part.shape.missingOf(whole.shape);
    expect(reader.nameAt('vllm', missing)).toBe('vllm:num_requests_waiting');
    expect(whole.shape.missingOf(part.shape)).toBe(-1);
    const lost = read(['vllm:num_requests_running 1', 'vllm:num_requests_waiting 2,0']);
    expect(lost.shape.equals(part.shape)).toBe(false);
    expect(lost.metrics?.[metric.waitingRequests]).toBeNaN();
  });

  it('takes a later set of adapters for the same', () => {
    const adapters = (names: string, at: number) =>
      `vllm:lora_requests_info{max_lora="4",running_lora_adapters="${names}",waiting_lora_adapters=""} ${at}`;
    const first = read([adapters('a', 1)]);
    const later = read([adapters('a', 1), adapters('a,b', 2)]);
    expect(later.shape.equals(first.shape)).toBe(true);
    expect(read([]).shape.equals(first.shape)).toBe(false);
  });
});

function order(line: string, seed: number): number {
  let hash = seed;
  for (const letter of line) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
  return hash;
}
