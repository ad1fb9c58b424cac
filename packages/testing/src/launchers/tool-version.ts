/** What a binary says its version is, for outputs that must name what was really used. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The first `x.y.z` in the output of `--version`. Throws when there is none. */
export async function toolVersion(path: string): Promise<string> {
  const { stdout } = await run(path, ['--version'], { timeout: 10_000 });
  const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0];
  if (version === undefined) throw new Error(`${path} --version says no version: ${stdout}`);
  return version;
}
