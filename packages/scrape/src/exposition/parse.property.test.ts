import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FamilyNames } from './family-names.ts';
import { isExposition } from './is-exposition.ts';
import { LabelCursor } from './label-cursor.ts';
import { parsePage } from './parse.ts';
import { type ReferenceSample, referenceParse } from './reference-parser.fixture.ts';
import { Samples } from './samples.ts';

const wanted = ['a', 'a_sum', 'a_count', 'ab:c', 'long_family_name_total'];
const unwanted = ['b', 'a_bucket', 'ab:cd', 'long_family_name', 'zz_sum'];
const names = new FamilyNames(wanted);

function parse(page: Uint8Array): Samples {
  const samples = new Samples();
  parsePage(page, names, samples);
  return samples;
}

function rows(samples: Samples): ReferenceSample[] {
  const cursor = new LabelCursor();
  return Array.from({ length: samples.count }, (_, i) => {
    const labels: Record<string, string> = {};
    for (const key of ['le', 'm', 'x_y']) {
      if (cursor.seek(samples, samples.set[i] as number, key)) labels[key] = cursor.value();
    }
    const name = wanted[samples.name[i] as number] ?? '';
    return { name, labels, value: samples.value[i] as number };
  });
}

const value = fc.oneof(
  fc.constantFrom('0', '1.0', '-1', '+Inf', '-Inf', 'NaN', '-nan', '3e4', '0.25'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);
const labelValue = fc
  .string({ unit: fc.constantFrom('a', 'b', '#', '}', '{', ',', ' ', '\\\\', '\\"', '\\n', 'é') })
  .filter((text) => text.length < 20);
const labels = fc
  .uniqueArray(fc.tuple(fc.constantFrom('le', 'm', 'x_y'), labelValue), {
    selector: ([key]) => key,
  })
  .map((pairs) => pairs.map(([key, text]) => `${key}="${text}"`).join(','));
const tail = fc.constantFrom('', '', '', ' 1700000000000', ' # {t="1"} 0.5');

/** One family as the format wants it: HELP, TYPE, then its samples in one group. */
const family = fc.constantFrom(...wanted, ...unwanted).chain((name) =>
  fc
    .tuple(
      fc.constantFrom('', `# HELP ${name} Some # text\n`),
      fc.constantFrom('', `# TYPE ${name} gauge\n`),
      fc.array(fc.tuple(labels, value, tail), { maxLength: 6 }),
      fc.constantFrom('', '\n', '# a comment\n'),
    )
    .map(([help, type, samples, end]) => {
      const lines = samples.map(([list, number, rest]) => {
        return `${name}${list === '' ? '' : `{${list}}`} ${number}${rest}\n`;
      });
      return { name, text: help + type + lines.join('') + end };
    }),
);
const page = fc
  .uniqueArray(family, { maxLength: 10, selector: ({ name }) => name })
  .map((families) => families.map(({ text }) => text).join(''));

it('reads generated pages as the reference parser does', () => {
  fc.assert(
    fc.property(page, fc.boolean(), (text, crlf) => {
      const sent = crlf ? text.replaceAll('\n', '\r\n') : text;
      const samples = parse(Buffer.from(sent));
      expect(rows(samples)).toEqual(referenceParse(sent, wanted));
      expect(samples.malformedLines).toBe(0);
    }),
    { numRuns: 300 },
  );
});

it('takes any bytes without throwing, and only sound numbers from them', () => {
  const noise = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc.tuple(page, fc.uint8Array({ maxLength: 8 }), fc.nat()).map(([text, bytes, at]) => {
      const damaged = Buffer.from(text);
      damaged.set(bytes.subarray(0, damaged.length), at % Math.max(1, damaged.length - 8));
      return damaged;
    }),
    fc.tuple(page, fc.nat()).map(([text, cut]) => Buffer.from(text.slice(0, cut % 300))),
  );
  fc.assert(
    fc.property(
      noise.filter((bytes) => bytes.length < 20_000),
      (bytes) => {
        const samples = parse(bytes);
        for (const row of rows(samples)) expect(wanted).toContain(row.name);
        isExposition(Buffer.from(bytes));
      },
    ),
    { numRuns: 300 },
  );
});
