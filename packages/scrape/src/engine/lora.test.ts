import { describe, expect, it } from 'vitest';
import { numberOf, readingOf } from '../read.fixture.ts';

function info(running: string, waiting: string, value: string): string {
  const labels = `max_lora="4",running_lora_adapters="${running}",waiting_lora_adapters="${waiting}"`;
  return `vllm:lora_requests_info{${labels}} ${value}`;
}

describe('LoRA adapters', () => {
  it('are those of the largest value: not of the last line, and no union', () => {
    const lines = [
      info('a,b', '', '1757900010.5'),
      info('c', 'd', '1757900003.1'),
      info('', '', '1757899990.0'),
    ];
    for (const page of [lines, lines.toReversed()]) {
      const reading = readingOf(page);
      expect(reading.loraRunning).toEqual(['a', 'b']);
      expect(reading.loraWaiting).toEqual([]);
      expect(numberOf(reading, 'loraSlotsMax')).toBe(4);
    }
  });

  it('are the empty set, not one adapter without a name, when the newest list is empty', () => {
    const reading = readingOf([info('a', '', '10'), info('', 'b, c,b', '11')]);
    expect(reading.loraRunning).toEqual([]);
    expect(reading.loraWaiting).toEqual(['b', 'c']);
  });

  it('are unknown, not empty, when the page does not speak of them', () => {
    const reading = readingOf(['vllm:num_requests_running 1']);
    expect(reading.loraRunning).toBeUndefined();
    expect(reading.loraWaiting).toBeUndefined();
    expect(numberOf(reading, 'loraSlotsMax')).toBeNaN();
  });

  it('ignores a series whose time is no number, and counts it', () => {
    const reading = readingOf([info('a', '', '10'), info('b', '', 'NaN')]);
    expect(reading.loraRunning).toEqual(['a']);
    expect(reading.invalidSamples).toBe(1);
  });
});
