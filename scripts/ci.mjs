// Runs every check of the project in turn and counts: each test is one, each other check is one.
// A check that fails does not stop the rest, so that one run shows all that is wrong.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const reports = mkdtempSync(join(tmpdir(), 'leadsman-ci-'));
const failures = [];
let passed = 0;
let failed = 0;

/** Runs a command with a time limit; its output goes straight through. */
function run(name, command, args, limitMinutes = 10) {
  process.stdout.write(`\n=== ${name}: ${command} ${args.join(' ')}\n`);
  const started = performance.now();
  const result = spawnSync(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: limitMinutes * 60_000,
    killSignal: 'SIGKILL',
  });
  const seconds = Math.round((performance.now() - started) / 1_000);
  process.stdout.write(`=== ${name}: ${result.status === 0 ? 'ok' : 'FAILED'} (${seconds} s)\n`);
  return result.status === 0;
}

function count(name, ok) {
  if (ok) passed++;
  else {
    failed++;
    failures.push(name);
  }
}

/** A vitest run, counted by its JSON report. A run without a report or without tests failed. */
function tests(name, script, limitMinutes) {
  const file = join(reports, `${name}.json`);
  const vitest = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const ok = run(name, 'npm', ['run', script, '--silent', '--', ...vitest], limitMinutes);
  let report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    count(`${name}: no report`, false);
    return;
  }
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  for (const suite of report.testResults) {
    for (const test of suite.assertionResults) {
      if (test.status === 'failed') failures.push(`${name}: ${test.fullName}`);
    }
  }
  // A file that fails before its first test has no failed test to count.
  if (!ok && report.numFailedTests === 0) count(`${name}: failed outside of a test`, false);
  if (report.numTotalTests === 0) count(`${name}: ran no test`, false);
}

function benchmarks() {
  return readdirSync(join(root, 'bench', 'src'))
    .filter((file) => /^[a-z-]+\.ts$/.test(file) && file !== 'main.ts')
    .map((file) => file.slice(0, -3))
    .sort();
}

count('bootstrap', run('bootstrap', 'npm', ['run', 'bootstrap', '--silent'], 15));
count('lint', run('lint', 'npm', ['run', 'lint', '--silent']));
count('type check', run('type check', 'npm', ['run', 'typecheck', '--silent']));
count('tidy', run('tidy', 'npm', ['run', 'tidy', '--silent']));
tests('tests', 'test', 30);
// On a machine without the tools this builds kube-apiserver and helm first: some 25 minutes.
tests('kubernetes', 'test:k8s', 45);
count('images', run('images', 'npm', ['run', 'images', '--silent']));
count('demo', run('demo', 'npm', ['run', 'demo', '--silent', '--', '--check', '--json'], 5));
const shortFaults = ['run', 'test:faults', '--silent', '--', '--short'];
count('faults', run('faults', 'npm', shortFaults, 5));
for (const name of benchmarks()) {
  const args = ['run', 'bench', '--silent', '--', name, '--smoke', '--json'];
  count(`bench ${name}`, run(`bench ${name}`, 'npm', args, 3));
}

rmSync(reports, { recursive: true });
if (failures.length > 0) {
  process.stdout.write(`\nfailed:\n${failures.map((name) => `  ${name}\n`).join('')}`);
}
process.stdout.write(`\n${passed} passed, ${failed} failed\n`);
process.exit(failed === 0 ? 0 : 1);
