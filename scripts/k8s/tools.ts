/**
 * kube-apiserver, etcd, helm and promtool for the Kubernetes tests: where they are, and how they
 * get there.
 *
 * kube-apiserver and helm are built from their published Go modules, once per user, into the cache
 * that the other tools use. etcd and promtool are Debian's. The package of promtool is unpacked into
 * the cache and not installed, because it would start a server; building it instead would take ten
 * minutes of a first run for expressions that every version knows. A folder of the cache is complete
 * or absent.
 */
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { isHelmUsable } from './helm-version.ts';

/** Keep in step with apiserver/go.mod. */
export const kubernetesVersion = '1.37.2';
const helmVersion = '4.3.2';
/** The first build compiles about a thousand packages: 14 minutes on two busy cores. */
const buildMinutesMax = 45;

export interface KubernetesTools {
  readonly apiServer: string | undefined;
  readonly etcd: string | undefined;
  readonly helm: string | undefined;
  readonly promtool: string | undefined;
  /** What is missing and why, one text each. */
  readonly problems: readonly string[];
}

/** Finds or makes the tools. `say` gets one line per step that takes time. */
export function ensureKubernetesTools(say: (line: string) => void): KubernetesTools {
  const problems: string[] = [];
  const attempt = (name: string, make: () => string): string | undefined => {
    try {
      return make();
    } catch (error) {
      problems.push(`${name} is missing: ${error instanceof Error ? error.message : error}`);
      return undefined;
    }
  };
  return {
    etcd: attempt('etcd', () => findEtcd(say)),
    promtool: attempt('promtool', () => findPromtool(say)),
    helm: attempt('helm', () => findHelm(say)),
    apiServer: attempt('kube-apiserver', () => findApiServer(say)),
    problems,
  };
}

function findEtcd(say: (line: string) => void): string {
  const found = onPath('etcd');
  if (found !== undefined) return found;
  say('installing etcd (Debian package etcd-server)');
  const options = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive' } };
  run('apt-get', ['update', '-q'], options);
  run('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'etcd-server'], options);
  const installed = onPath('etcd');
  if (installed === undefined)
    throw new Error('etcd-server was installed, but etcd is not on PATH');
  return installed;
}

/** The one that PROMTOOL_BIN names, else one on PATH, else that of Debian's package. */
function findPromtool(say: (line: string) => void): string {
  const named = env.PROMTOOL_BIN;
  if (named) {
    if (isExecutable(named)) return named;
    throw new Error(`PROMTOOL_BIN=${named} is not an executable file`);
  }
  const found = onPath('promtool');
  if (found !== undefined) return found;
  try {
    return cached('promtool', debianRelease(), (folder) => unpackPromtool(folder, say));
  } catch (error) {
    throw new Error(
      `${(error as Error).message}. Install promtool, or set PROMTOOL_BIN to its path`,
    );
  }
}

function unpackPromtool(folder: string, say: (line: string) => void): void {
  say('fetching promtool (from the Debian package prometheus, once per user)');
  const unpacked = join(folder, 'package');
  mkdirSync(unpacked);
  run('apt-get', ['update', '-q'], {});
  run('apt-get', ['download', '-q', 'prometheus'], { cwd: unpacked });
  const [file = ''] = readdirSync(unpacked);
  run('dpkg-deb', ['-x', file, '.'], { cwd: unpacked });
  copyFileSync(join(unpacked, 'usr/bin/promtool'), join(folder, 'promtool'));
  rmSync(unpacked, { recursive: true });
}

/** Such as `debian-12`: which promtool there is depends on it. */
function debianRelease(): string {
  const text = readFileSync('/etc/os-release', 'utf8');
  const field = (name: string) => new RegExp(`^${name}="?([^"\n]*)`, 'm').exec(text)?.[1] ?? '';
  return `${field('ID')}-${field('VERSION_ID')}`;
}

/** One on PATH that is new enough, else one that is built. */
function findHelm(say: (line: string) => void): string {
  const found = onPath('helm');
  if (found !== undefined) {
    const { stdout } = spawnSync(found, ['version', '--template', '{{.Version}}'], {
      encoding: 'utf8',
    });
    if (isHelmUsable(stdout ?? '')) return found;
    say(`${found} is not taken: helm ${(stdout ?? '').trim() || 'without a version'} is too old`);
  }
  return cached('helm', helmVersion, (folder) => {
    say(`building helm ${helmVersion} (once per user, about 5 minutes)`);
    run(
      'go',
      ['install', '-trimpath', '-ldflags=-s -w', `helm.sh/helm/v4/cmd/helm@v${helmVersion}`],
      { env: { ...env, GOBIN: folder, CGO_ENABLED: '0' } },
    );
  });
}

function findApiServer(say: (line: string) => void): string {
  return cached('kube-apiserver', kubernetesVersion, (folder) => {
    say(`building kube-apiserver ${kubernetesVersion} (once per user, about 15 minutes)`);
    const version = 'k8s.io/component-base/version';
    const [major = '', minor = ''] = kubernetesVersion.split('.');
    const flags = [
      '-s -w',
      `-X ${version}.gitVersion=v${kubernetesVersion}`,
      `-X ${version}.gitMajor=${major}`,
      `-X ${version}.gitMinor=${minor}`,
    ].join(' ');
    const target = join(folder, 'kube-apiserver');
    run(
      'go',
      [
        'build',
        '-trimpath',
        `-ldflags=${flags}`,
        '-o',
        target,
        'k8s.io/kubernetes/cmd/kube-apiserver',
      ],
      {
        cwd: fileURLToPath(new URL('apiserver', import.meta.url)),
        env: { ...env, CGO_ENABLED: '0' },
      },
    );
  });
}

/** The cached binary, made by `build` into an empty folder when it is not there yet. */
function cached(name: string, version: string, build: (folder: string) => void): string {
  const cache = env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'leadsman', `${name}-${version}`);
  const binary = join(folder, name);
  if (isExecutable(binary)) return binary;
  mkdirSync(join(cache, 'leadsman'), { recursive: true });
  const fresh = mkdtempSync(`${folder}.part-`);
  try {
    build(fresh);
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return binary;
}

function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv },
): void {
  const result = spawnSync(command, args, {
    ...options,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    timeout: buildMinutesMax * 60_000,
  });
  if (result.error !== undefined) throw new Error(`${command}: ${result.error.message}`);
  if (result.status !== 0) throw new Error(`${command} failed: ${result.stderr.slice(-2_000)}`);
}

function onPath(name: string): string | undefined {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
