import { describe, expect, it } from 'vitest';
import { customReadingOf, numberOf } from '../read.fixture.ts';
import { parseCustomMapping, readCustomMapping } from './custom.ts';

const mapping = `
engine: house-engine
rankLabel: shard
replicaLabels: [copy]
modelLabels: [model]
metrics:
  runningRequests: house_running
  waitingRequests:
    - { family: house_queue, where: { state: waiting } }
    - house_queue_old
  kvCacheUsageRatio:
    divide: [house_kv_used, house_kv_total]
  prefixCacheHitRatio: { family: house_hits_percent, scale: 0.01 }
  kvBlockTokens: { family: house_info, label: block }
progress: [house_steps_total]
`;

describe('a custom mapping', () => {
  it('reads the page of an engine that we do not know', () => {
    const reading = customReadingOf(parseCustomMapping(mapping), [
      'house_running{shard="0",copy="a",model="m"} 3',
      'house_running{shard="0",copy="b",model="m"} 3',
      'house_running{shard="1",copy="a",model="m"} 2',
      'house_queue{state="waiting"} 7',
      'house_queue{state="running"} 9',
      'house_kv_used 30',
      'house_kv_total 40',
      'house_hits_percent 61',
      'house_info{block="32"} 1',
      'house_steps_total 5',
    ]);
    expect(reading.engine).toBe('house-engine');
    expect(reading.models).toEqual(['m']);
    expect(numberOf(reading, 'runningRequests')).toBe(5);
    expect(numberOf(reading, 'waitingRequests')).toBe(7);
    expect(numberOf(reading, 'kvCacheUsageRatio')).toBe(0.75);
    expect(numberOf(reading, 'prefixCacheHitRatio')).toBeCloseTo(0.61, 10);
    expect(numberOf(reading, 'kvBlockTokens')).toBe(32);
    expect(reading.progress).toEqual([5]);
  });

  it('adds up two queues, rank by rank', () => {
    const text =
      'engine: a\nrankLabel: shard\nmetrics: { waitingRequests: { add: [outer, inner] } }';
    const reading = customReadingOf(parseCustomMapping(text), [
      'outer{shard="0"} 3',
      'inner{shard="0"} 4',
      'outer{shard="1"} 5',
      'inner{shard="1"} 0',
    ]);
    expect(numberOf(reading, 'waitingRequests')).toBe(12);
    expect(reading.ranks.map(({ waitingRequests }) => waitingRequests)).toEqual([7, 5]);
  });

  it('knows no sum when one queue speaks of ranks and the other of all together', () => {
    const text =
      'engine: a\nrankLabel: shard\nmetrics: { waitingRequests: { add: [outer, inner] } }';
    const reading = customReadingOf(parseCustomMapping(text), [
      'outer{shard="0"} 3',
      'outer{shard="1"} 5',
      'inner 4',
    ]);
    expect(numberOf(reading, 'waitingRequests')).toBeNaN();
  });

  it('may say where the engine tells its version', () => {
    const text = 'engine: a\nversion: { path: /about, field: release }\nmetrics: {}';
    expect(parseCustomMapping(text).versionPages).toEqual([{ path: '/about', field: 'release' }]);
    expect(parseCustomMapping('engine: a\nmetrics: {}').versionPages).toBeUndefined();
    const wrong = 'engine: a\nversion: { path: "http://b/", field: "" }\nmetrics: {}';
    expect(() => parseCustomMapping(wrong)).toThrow(/version\.path.*\n.*version\.field/);
  });

  it('names every fault of an unusable file', () => {
    const text =
      'engine: Has Blanks\nmetrics:\n  nonsense: a\n  runningRequests: "a b"\nextra: 1\n';
    expect(() => parseCustomMapping(text)).toThrow(/engine: lower-case/);
    expect(() => parseCustomMapping(text)).toThrow(/nonsense/);
    expect(() => parseCustomMapping(text)).toThrow(/extra/);
    expect(() => parseCustomMapping('[]')).toThrow(/not usable/);
    expect(() => parseCustomMapping('engine: a\nmetrics: {scrapeDurationMs: a}')).toThrow();
    expect(() => readCustomMapping('/nonexistent.yaml')).toThrow();
  });
});
