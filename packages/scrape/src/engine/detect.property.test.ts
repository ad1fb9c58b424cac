/** No page is taken for an engine's on the strength of names that two engines, or none, own. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PageReader } from '../page-reader.ts';
import { compileProfile } from './compile.ts';
import { stemsOf } from './near.ts';
import { engineProfiles } from './profiles.ts';

const reader = new PageReader();
const compiled = engineProfiles.map(compileProfile);

function inSeveral(sets: readonly Iterable<string>[]): string[] {
  const count = new Map<string, number>();
  for (const set of sets) for (const one of set) count.set(one, (count.get(one) ?? 0) + 1);
  return [...count].filter(([, owners]) => owners > 1).map(([one]) => one);
}

/** What two profiles call alike, with the prefix of neither; and whole names that two have. */
const common = [
  ...inSeveral(compiled.map(stemsOf)),
  ...inSeveral(compiled.map(({ names }) => names.names)),
];
const labels = fc.constantFrom(
  '',
  '{model_name="m"}',
  '{engine="0",model_name="m"}',
  '{engine_type="prefill",model_name="m"}',
  '{dp_rank="0",tp_rank="1"}',
);

it('detects no engine on a page of names that several have in common', () => {
  expect(common).toContain('num_requests_running');
  const line = fc
    .tuple(fc.constantFrom(...common), labels, fc.nat())
    .map(([name, set, value]) => `${name}${set} ${value}`);
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 40 }), (lines) => {
      expect(reader.detect(Buffer.from(`${lines.join('\n')}\n`))).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});

it('detects no engine on a page of any name without the prefixes that engines have', () => {
  const bare = compiled.flatMap((one) => [...stemsOf(one)]);
  fc.assert(
    fc.property(fc.constantFrom(...bare), labels, (name, set) => {
      expect(reader.detect(Buffer.from(`${name}${set} 1\n`))).toBeUndefined();
    }),
    { numRuns: 400 },
  );
});

it('detects each engine by any one of its own names', () => {
  for (const { profile, names, proofs } of compiled) {
    for (const name of names.names) {
      if (proofs.has(name)) continue;
      expect(reader.detect(Buffer.from(`${name} 1\n`)), name).toBe(profile.name);
    }
  }
});
