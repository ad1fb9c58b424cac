import { describe, expect, it } from 'vitest';
import { FamilyNames } from './family-names.ts';
import { LabelCursor } from './label-cursor.ts';
import { parsePage } from './parse.ts';
import { lineBytesMax, loss, Samples, samplesOfNameMax } from './samples.ts';

const names = new FamilyNames(['up', 'vllm:running', 'vllm:ttft_sum', 'vllm:ttft_count', 'kv']);

export function read(page: string | Uint8Array, wanted = names) {
  const samples = new Samples();
  parsePage(typeof page === 'string' ? Buffer.from(page) : page, wanted, samples);
  const rows: string[] = [];
  for (let i = 0; i < samples.count; i++) {
    const name = wanted.names[samples.name[i] as number];
    rows.push(`${name}${labelsOf(samples, i)} ${samples.value[i]}`);
  }
  return { rows, malformed: samples.malformedLines, dropped: samples.droppedSamples };
}

function labelsOf(samples: Samples, i: number): string {
  const cursor = new LabelCursor();
  const labels: string[] = [];
  cursor.start(samples, samples.set[i] as number);
  while (cursor.next()) labels.push(JSON.stringify(cursor.value()));
  return labels.join();
}

describe('parsePage', () => {
  it('keeps wanted samples and skips all others', () => {
    const { rows, malformed } = read(
      [
        '# HELP python_gc_total Objects # collected.',
        '# TYPE python_gc_total counter',
        'python_gc_total{generation="0"} 11299.0',
        '# HELP vllm:running Requests.',
        '# TYPE vllm:running gauge',
        'vllm:running{engine="0",model_name="m"} 3.0',
        'vllm:running{engine="1",model_name="m"} 4.0',
        'vllm:running_more 9',
        '# TYPE vllm:ttft histogram',
        'vllm:ttft_bucket{le="0.1"} 1',
        'vllm:ttft_bucket{le="+Inf"} 2',
        'vllm:ttft_count 2',
        'vllm:ttft_sum 0.25',
        '',
      ].join('\n'),
    );
    expect(rows).toEqual([
      'vllm:running"0","m" 3',
      'vllm:running"1","m" 4',
      'vllm:ttft_count 2',
      'vllm:ttft_sum 0.25',
    ]);
    expect(malformed).toBe(0);
  });

  it('finds a wanted series without HELP and TYPE behind a family that is not wanted', () => {
    const page = '# TYPE other gauge\nother 1\nother{a="b"} 2\nup 1\n';
    expect(read(page).rows).toEqual(['up 1']);
    expect(read('# TYPE a gauge\na 1\nup 1\na_part{b="c"} 2\n').rows).toEqual(['up 1']);
    expect(read(`${page}# TYPE more gauge\nmore 1\nkv 0.5\n`).rows).toEqual(['up 1', 'kv 0.5']);
  });

  it('skips HELP and TYPE without samples, and hashes in help texts and labels', () => {
    const page = [
      '# HELP nothing Has # no\\n samples # at all.',
      '# TYPE nothing gauge',
      '# TYPE other gauge',
      'other{path="/#/a"} 1',
      '',
      '#up 7',
      '# a comment',
      'up 1',
      '# EOF',
    ].join('\n');
    expect(read(page).rows).toEqual(['up 1']);
  });

  it('takes CRLF, blanks, a byte order mark, timestamps and a last line without its end', () => {
    const page =
      '\u{feff}# TYPE up gauge\r\nup 1\r\n  kv \t 0.5 1395066363000\r\n\r\n \t\r\nup{} 3';
    expect(read(page)).toEqual({ rows: ['up 1', 'kv 0.5', 'up 3'], malformed: 0, dropped: 0 });
  });

  it('takes OpenMetrics: fractional timestamps, exemplars, UNIT and EOF', () => {
    const page = [
      '# TYPE vllm:ttft histogram',
      '# UNIT vllm:ttft seconds',
      'vllm:ttft_count 17 1520879607.789 # {trace_id="x y"} 0.67 1520879607.1',
      'vllm:ttft_sum 324789.3 # {} 1',
      '# EOF',
      '',
    ].join('\n');
    const { rows, malformed } = read(page);
    expect(rows).toEqual(['vllm:ttft_count 17', 'vllm:ttft_sum 324789.3']);
    expect(malformed).toBe(0);
  });

  it('undoes escapes and reads UTF-8 in label values', () => {
    const page = 'up{a="q\\"u\\\\o\\nte",b="}, c=\\"",c="日本 \\x",d = "" , } 1\n';
    expect(read(page).rows).toEqual(['up"q\\"u\\\\o\\nte","}, c=\\"","日本 \\\\x","" 1']);
  });

  it.each([
    'up',
    'up{',
    'up{a="b} 1',
    'up{a="b" c="d"} 1',
    'up{a=b} 1',
    'up{="b"} 1',
    'up{a="b"}',
    'up 1 2 3',
    'up 1 soon',
    'up one',
    'up{a="b"}1x',
    '<html>',
    '123 4',
  ])('counts %j as malformed and goes on', (line) => {
    const { rows, malformed } = read(`${line}\nkv 1\n`);
    expect(rows).toEqual(['kv 1']);
    expect(malformed).toBe(1);
  });

  it('drops a line beyond its bound, and samples beyond theirs, and counts them', () => {
    const long = `up{a="${'x'.repeat(lineBytesMax)}"} 1\nkv 1\n`;
    expect(read(long)).toEqual({ rows: ['kv 1'], malformed: 0, dropped: 1 });
    const { rows, dropped } = read('up 1\n'.repeat(samplesOfNameMax + 5));
    expect(rows).toHaveLength(samplesOfNameMax);
    expect(dropped).toBe(5);
  });

  it('bounds the label lists it keeps', () => {
    const lines = Array.from({ length: samplesOfNameMax + 7 }, (_, i) => `up{a="${i}"} 1\n`);
    const { rows, dropped } = read(`${lines.join('')}kv 1\n`);
    expect(rows).toHaveLength(samplesOfNameMax + 1);
    expect(rows.at(-1)).toBe('kv 1');
    expect(dropped).toBe(7);
  });

  it('notes by name what was lost, and why', () => {
    const page = `up{a="b} 1\nkv 0.5\nvllm:ttft_sum 64,0\nvllm:ttft_sum{a="${'x'.repeat(lineBytesMax)}"} 1\n`;
    const samples = new Samples();
    parsePage(Buffer.from(page), names, samples);
    const lostOf = (name: string) => samples.lost[names.names.indexOf(name)];
    expect(lostOf('up')).toBe(loss.malformed);
    expect(lostOf('vllm:ttft_sum')).toBe(loss.malformed | loss.tooLong);
    expect(lostOf('kv')).toBe(0);
  });

  it('finds a wanted line inside the group of a family that is not wanted', () => {
    const page = '# TYPE other gauge\nother{a="1"} 1\nup 64\nother{a="2"} 2\nother_more 1\nkv 1\n';
    expect(read(page).rows).toEqual(['up 64', 'kv 1']);
  });

  it('reads names in quotes, as Prometheus 3 writes them', () => {
    const page = [
      '# TYPE "vllm:running" gauge',
      '{"vllm:running",model_name="x"} 3',
      '{ "vllm:running" , "model.name"="y" } 4',
      '{"up"} 1',
      '{"other",a="b"} 9',
      '{"upper"} 2',
      '{"kv" a="b"} 2',
    ].join('\n');
    const { rows, malformed } = read(page);
    expect(rows).toEqual(['vllm:running"x" 3', 'vllm:running"y" 4', 'up 1']);
    expect(malformed).toBe(1);
  });

  it('of names whose value is a time keeps the newest, however many there are', () => {
    const timed = new FamilyNames(['info', 'kv'], ['info']);
    const lines = Array.from(
      { length: 20_000 },
      (_, i) => `info{a="${i}"} ${(i * 7919) % 20_011}\n`,
    );
    const { rows, dropped } = read(`${lines.join('')}kv 1\ninfo{a="no"} NaN\n`, timed);
    expect(dropped).toBe(0);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toBe('kv 1');
    expect(rows[1]).toMatch(/ 20010$/);
  });

  it('refuses names that no page can have', () => {
    expect(() => new FamilyNames(['9lives'])).toThrow(RangeError);
    expect(() => new FamilyNames(['a{b}'])).toThrow(RangeError);
  });
});
