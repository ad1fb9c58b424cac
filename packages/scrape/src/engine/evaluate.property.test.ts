import { metric, metricNames } from '@leadsman/wire';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { numberOf, readingOf } from '../read.fixture.ts';

const count = fc.nat({ max: 1_000 });
const ranks = fc.array(
  fc.record({ running: count, waiting: count, kv: fc.float({ min: 0, max: 1, noNaN: true }) }),
  {
    minLength: 1,
    maxLength: 12,
  },
);

function linesOf(rows: { running: number; waiting: number; kv: number }[]): string[] {
  return rows.flatMap(({ running, waiting, kv }, rank) => [
    `vllm:num_requests_running{engine="${rank}",model_name="m"} ${running}`,
    `vllm:num_requests_waiting{engine="${rank}",model_name="m"} ${waiting}`,
    `vllm:kv_cache_usage_perc{engine="${rank}",model_name="m"} ${kv}`,
  ]);
}

it('gives the same numbers in whatever order the lines come', () => {
  fc.assert(
    fc.property(
      ranks.chain((rows) => {
        const lines = linesOf(rows);
        return fc.tuple(fc.constant(rows), fc.shuffledSubarray(lines, { minLength: lines.length }));
      }),
      ([rows, lines]) => {
        const reading = readingOf(lines);
        const sum = (pick: (row: (typeof rows)[number]) => number) =>
          rows.reduce((total, row) => total + pick(row), 0);
        expect(numberOf(reading, 'runningRequests')).toBe(sum((row) => row.running));
        expect(numberOf(reading, 'waitingRequests')).toBe(sum((row) => row.waiting));
        expect(numberOf(reading, 'kvCacheUsageMaxRatio')).toBe(
          Math.max(...rows.map((row) => row.kv)),
        );
        const mean = sum((row) => row.kv) / rows.length;
        expect(numberOf(reading, 'kvCacheUsageRatio')).toBeCloseTo(mean, 9);
        expect(reading.engineRanks).toBe(rows.length);
      },
    ),
    { numRuns: 60 },
  );
});

it('never makes a number that its unit does not allow', () => {
  const families = [
    'vllm:num_requests_running',
    'vllm:num_requests_waiting',
    'vllm:kv_cache_usage_perc',
    'vllm:gpu_cache_usage_perc',
    'vllm:generation_tokens_total',
    'vllm:gpu_prefix_cache_hit_rate',
  ];
  const value = fc.oneof(
    fc.double().map(String),
    fc.constantFrom('NaN', '+Inf', '-1', '0', '0.5', '9.2e18', '4294967295'),
  );
  const line = fc
    .tuple(fc.constantFrom(...families), fc.nat({ max: 2 }), value)
    .map(([family, engine, text]) => `${family}{engine="${engine}"} ${text}`);
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 20 }), (lines) => {
      const reading = readingOf(['vllm:iteration_tokens_total_count 1', ...lines]);
      for (const name of metricNames) {
        const number = reading.metrics[metric[name]] as number;
        if (Number.isNaN(number)) continue;
        expect(number).toBeGreaterThanOrEqual(0);
        expect(number).toBeLessThanOrEqual(name.endsWith('Ratio') ? 1 : 2 ** 54);
      }
    }),
    { numRuns: 200 },
  );
});
