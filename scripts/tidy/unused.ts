/**
 * What nobody uses, by knip: files, exports and dependencies without a user, and packages that
 * shipped code imports although only development depends on them. Its configuration is knip.json.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../node_modules/knip/bin/knip.js', import.meta.url));

/** Types are left out: a shape that is named for its readers costs nothing. */
const runs = [
  ['--exclude', 'types'],
  ['--production', '--include', 'unlisted'],
];

/** A line for each thing that is unused or missing; none when all is well. */
export function unusedBreaches(): string[] {
  return runs.flatMap((options) => {
    const args = [
      program,
      '--no-config-hints',
      '--no-progress',
      '--reporter',
      'compact',
      ...options,
    ];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    if (status === 0) return [];
    const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '');
    return lines.length > 0 ? lines : [`knip ended with ${status}`];
  });
}
