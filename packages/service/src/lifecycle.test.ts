import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';

const service = new URL('./index.ts', import.meta.url).href;

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a small process with what service exports in scope, up to its end. */
async function run(source: string, signals: NodeJS.Signals[] = []): Promise<Ended> {
  const imports = 'createLogger, onShutdown, runMain, ConfigError, HelpRequested';
  const module = `
    import { ${imports} } from ${JSON.stringify(service)};
    const logger = createLogger({ name: 'test', level: 'silent' });
    ${source}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', module], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (piece) => {
    stderr += piece;
  });
  child.stdout.on('data', (piece) => {
    // The first is its sign that it is up.
    if (stdout === '') for (const signal of signals) child.kill(signal);
    stdout += piece;
  });
  const [code] = (await ended) as [number | null];
  return { code, stdout, stderr };
}

/** A process that goes on until its signals, and then does `stop`. */
function serving(stop: string, graceMs: number): string {
  return `
    onShutdown({ logger, stop: ${stop}, graceMs: ${graceMs} });
    setInterval(() => {}, 1000);
    process.stdout.write('up');`;
}

const never = '() => new Promise(() => {})';

it('ends with success after an orderly stop', async () => {
  expect((await run(serving('async () => {}', 200), ['SIGTERM'])).code).toBe(0);
});

it('ends with a failure when stopping fails or takes too long', async () => {
  const failing = 'async () => { throw new Error("on purpose"); }';
  expect((await run(serving(failing, 60_000), ['SIGINT'])).code).toBe(1);
  expect((await run(serving(never, 200), ['SIGTERM'])).code).toBe(1);
});

it('ends at once with a second signal', async () => {
  expect((await run(serving(never, 60_000), ['SIGTERM', 'SIGINT'])).code).toBe(1);
});

it.each([
  ['thrown', 'throw new Error("on purpose")'],
  ['of a promise', 'void Promise.reject(new Error("on purpose"))'],
])('ends with a code of its own on a fault that nobody caught, %s', async (_, fault) => {
  const source = `${serving(never, 60_000)} setTimeout(() => { ${fault} });`;
  expect((await run(source)).code).toBe(70);
});

it('tells all faults of a configuration, and nothing else', async () => {
  const ended = await run('await runMain(async () => { throw new ConfigError(["one", "two"]); })');
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(ended.stderr).toMatch(/one\n {2}two\n$/);
});

it('gives help as a success', async () => {
  const ended = await run('await runMain(async () => { throw new HelpRequested("flags"); })');
  expect(ended).toEqual({ code: 0, stdout: 'flags', stderr: '' });
});

it('names the cause of a start that fails', async () => {
  const ended = await run(`await runMain(async () => {
    throw new Error('no start', { cause: new Error('no such file') });
  })`);
  expect(ended.code).toBe(1);
  expect(ended.stderr).toMatch(/no start[\s\S]*no such file/);
});
