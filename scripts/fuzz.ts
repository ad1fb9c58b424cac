/**
 * `npm run fuzz -- --minutes N [--target NAME]`: damaged inputs into everything that reads bytes of
 * others, N minutes in all, shared by the targets. First each target must find its planted bug.
 *
 * A failing input is printed in base64; `--target NAME --input BASE64` runs that one again.
 * `--seed N` starts elsewhere. Ends with 1 when something was found, or a planted bug was not.
 */
import { parseArgs } from 'node:util';
import { type FuzzTarget, fuzz } from './fuzz/target.ts';
import { targets } from './fuzz/targets.ts';

const plantedInputsMax = 100_000;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    target: { type: 'string' },
    seed: { type: 'string' },
    input: { type: 'string' },
  },
});
const say = (line: string) => void process.stdout.write(`${line}\n`);
const minutes = Number(values.minutes);
const seed = values.seed === undefined ? Date.now() % 0x4000_0000 : Number(values.seed);
const chosen = targets.filter(({ name }) => values.target === undefined || values.target === name);
if (chosen.length === 0 || !(minutes > 0) || !Number.isSafeInteger(seed)) {
  const names = targets.map(({ name }) => name).join(', ');
  process.stderr.write(`--minutes above 0, --seed an integer, --target one of ${names}\n`);
  process.exit(2);
}
if (values.input !== undefined) {
  if (values.target === undefined) {
    process.stderr.write('--input needs --target\n');
    process.exit(2);
  }
  chosen[0]!.check(Uint8Array.from(Buffer.from(values.input, 'base64')));
  say('this input passes');
  process.exit(0);
}
const budgetMs = (minutes * 60_000) / chosen.length;
process.exit(chosen.map((target) => isClean(target)).every(Boolean) ? 0 : 1);

function isClean(target: FuzzTarget): boolean {
  const { name, planted } = target;
  const found = fuzz(target, planted.check, seed, (inputs) => inputs < plantedInputsMax);
  if (found.finding === undefined) {
    say(`${name}: NOT FOUND, planted: ${planted.what}`);
    return false;
  }
  say(`${name}: found what was planted after ${found.inputs} inputs: ${planted.what}`);
  const endMs = performance.now() + budgetMs;
  const { inputs, finding } = fuzz(target, target.check, seed, () => performance.now() < endMs);
  if (finding === undefined) {
    say(`${name}: clean, ${inputs} inputs from seed ${seed} on`);
    return true;
  }
  say(`${name}: FAILED with seed ${finding.seed}: ${finding.error.stack}`);
  const text = Buffer.from(finding.input).toString('base64');
  say(`again: npm run fuzz -- --target ${name} --input '${text}'`);
  return false;
}
