/** Metrics pages, recorded and simulated, through the reader of every engine. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { PageReader } from '../../packages/scrape/src/page-reader.ts';
import { type MetricName, metric, metricNames } from '../../packages/wire/src/index.ts';
import type { FuzzTarget } from './target.ts';

const folder = new URL('../../packages/scrape/fixtures/', import.meta.url);
const recorded = readdirSync(folder)
  .filter((file) => file.endsWith('.txt'))
  .map((file) => Uint8Array.from(readFileSync(new URL(file, folder))));

const families = [
  'vllm:num_requests_running',
  'vllm:num_requests_waiting',
  'vllm:kv_cache_usage_perc',
  'sglang:num_running_reqs',
  'sglang:token_usage',
  'llamacpp:requests_processing',
  'tgi_queue_size',
];
const value = fc.constantFrom('0', '1', '0.5', '1e3', 'NaN', '+Inf', '-1', '9007199254740993');
const label = fc.constantFrom('', '{model_name="m"}', '{engine="1",model_name="a\\"b"}');
const small = fc
  .array(fc.tuple(fc.constantFrom(...families), label, value), { minLength: 1, maxLength: 12 })
  .map((lines) => lines.map(([name, labels, number]) => `${name}${labels} ${number}\n`).join(''))
  .map((text) => Uint8Array.from(Buffer.from(text)));

const reader = new PageReader();
const ratios = metricNames.filter((name) => name.endsWith('Ratio'));

type Read = typeof reader.read;

function check(read: Read, page: Uint8Array): void {
  reader.detect(page);
  for (const engine of reader.engineNames) {
    const outcome = read(page, engine);
    if (!('reading' in outcome)) continue;
    for (const name of metricNames) within(name, outcome.reading.metrics[metric[name]] as number);
  }
}

/** Unknown is NaN; any other number is one that its unit allows. */
function within(name: MetricName, number: number): void {
  if (Number.isNaN(number)) return;
  assert.ok(number >= 0 && Number.isFinite(number), `${name} is ${number}`);
  if (ratios.includes(name)) assert.ok(number <= 1, `${name} is ${number}`);
}

export const exposition: FuzzTarget = {
  name: 'exposition',
  sound: fc.oneof({ weight: 8, arbitrary: small }, fc.constantFrom(...recorded)),
  tokens: [
    ...families,
    ...[
      '# HELP ',
      '# TYPE ',
      '# EOF\n',
      '{',
      '}',
      '="',
      '\\"',
      ' NaN\n',
      ' -Inf\n',
      ' 1e999',
      '\r\n',
    ],
    ...['{"vllm:num_requests_running",model_name="x"} 3\n', 'engine="', 'le="', ' 1_0', ' 0x10'],
  ],
  check: (page) => check((bytes, engine) => reader.read(bytes, engine), page),
  planted: {
    what: 'a number below zero is taken as it is written',
    check: (page) =>
      check((bytes, engine) => {
        const outcome = reader.read(bytes, engine);
        const below = /^vllm:num_requests_waiting (-\d+)$/m.exec(Buffer.from(bytes).toString());
        if ('reading' in outcome && below !== null) {
          outcome.reading.metrics[metric.waitingRequests] = Number(below[1]);
        }
        return outcome;
      }, page),
  },
};
