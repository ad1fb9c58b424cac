// Makes a fresh checkout ready to run, then runs one thing in it. Plain JavaScript without
// dependencies, as the host's Node (20 or later) starts it before anything is installed.
//
//   node scripts/bootstrap.mjs                       install only
//   node scripts/bootstrap.mjs --run FILE.ts ARGS    then run FILE.ts with the project's Node
//   node scripts/bootstrap.mjs --exec TOOL ARGS      then run a tool of node_modules/.bin
//
// Skipped when nothing changed: a stamp in node_modules holds the hash of the lockfile and of
// every manifest.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureTools } from './fetch-tools.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const binaries = join(root, 'node_modules', '.bin');
const stampFile = join(root, 'node_modules', '.leadsman-stamp');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

function fail(message) {
  process.stderr.write(`\n${message}\n`);
  process.exit(1);
}

function manifestFiles() {
  const files = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml'];
  for (const folder of readdirSync(join(root, 'packages')))
    files.push(`packages/${folder}/package.json`);
  for (const folder of ['bench', 'demo', 'e2e']) files.push(`${folder}/package.json`);
  return files.filter((file) => existsSync(join(root, file))).sort();
}

function wantedStamp() {
  const hash = createHash('sha256');
  for (const file of manifestFiles()) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

function installPackages(say) {
  const wanted = wantedStamp();
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) return;
  const pnpm = manifest.packageManager;
  say(`Installing packages with ${pnpm} (a minute on the first run) ...`);
  // CI=true keeps pnpm from asking whether it may replace an older node_modules.
  const result = spawnSync('npx', ['--yes', pnpm, 'install', '--frozen-lockfile'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, CI: 'true' },
  });
  if (result.error?.code === 'ENOENT') {
    fail('npx was not found. It comes with npm: install Node.js 20 or later with npm, then retry.');
  }
  if (result.status !== 0) {
    fail(`Installing packages failed (see above). Retry, or run: npx ${pnpm} install`);
  }
  writeFileSync(stampFile, wanted);
}

function checkNode() {
  const found = spawnSync(join(binaries, 'node'), ['--version'], { encoding: 'utf8' });
  const wanted = manifest.devDependencies.node;
  if (found.status !== 0) {
    fail(
      `Node ${wanted} did not start (${found.error?.message ?? found.stderr}). It is the npm ` +
        'package "node"; delete node_modules and run again.',
    );
  }
  if (found.stdout.trim() !== `v${wanted}`) {
    fail(`Expected Node v${wanted}, found ${found.stdout.trim()}: delete node_modules, run again.`);
  }
}

/** Runs the command with the project's binaries first on PATH; its exit is ours. */
function hand(command, args) {
  const child = spawn(command, args, {
    stdio: 'inherit',
    env: { ...process.env, PATH: `${binaries}${delimiter}${process.env.PATH}` },
  });
  // A terminal's Ctrl-C reaches the child as well; we only wait for its orderly end.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', (error) => fail(`${command}: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exit(signal === null ? code : 128 + constants.signals[signal]);
  });
}

const args = process.argv.slice(2);
const quiet = args[0] === '--quiet';
if (quiet) args.shift();
const say = quiet ? () => {} : (line) => process.stderr.write(`${line}\n`);
const [major] = process.versions.node.split('.').map(Number);
if (major < 20) fail(`Node ${process.versions.node} is too old: install Node.js 20 or later.`);

installPackages(say);
checkNode();
if (!quiet) await ensureTools({ say });
const [action, target, ...rest] = args;
if (action === '--run') hand(join(binaries, 'node'), [join(root, target), ...rest]);
else if (action === '--exec') hand(join(binaries, target), rest);
else if (action !== undefined) fail(`unknown argument: ${action}`);
