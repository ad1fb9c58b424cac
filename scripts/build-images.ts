/**
 * `npm run images`: does in a folder what deploy/images/Dockerfile does in an image, and starts
 * each process from there. `--out FOLDER` keeps the folder; `--no-smoke` only builds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, processes } from './images/bundle.ts';
import { smokeAll } from './images/smoke.ts';

const { values } = parseArgs({
  options: { out: { type: 'string' }, 'no-smoke': { type: 'boolean' } },
});
const say = (line: string) => process.stdout.write(`images: ${line}\n`);
// Outside of the repository, where no package can be found by accident.
const out =
  values.out === undefined ? mkdtempSync(join(tmpdir(), 'leadsman-images-')) : resolve(values.out);

try {
  const { bytes, files } = await bundle(out);
  const names = Object.keys(processes).join(', ');
  say(`${names}: ${(bytes / 1e6).toFixed(1)} MB in ${files} files`);
  if (values['no-smoke'] !== true) await smokeAll(out, say);
} finally {
  if (values.out === undefined) rmSync(out, { recursive: true, force: true });
}
