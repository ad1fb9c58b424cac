import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';

const service = new URL('./index.ts', import.meta.url).href;

/** Runs a small process whose stop is `stop`, sends the signals and gives its exit code. */
async function run(stop: string, signals: NodeJS.Signals[]): Promise<number | null> {
  const source = `
    import { createLogger, onShutdown } from ${JSON.stringify(service)};
    const stop = ${stop};
    onShutdown({ logger: createLogger({ name: 'test', level: 'silent' }), stop, graceMs: 200 });
    setInterval(() => {}, 1000);
    process.stdout.write('up');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  for (const signal of signals) child.kill(signal);
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

it('ends with success after an orderly stop', async () => {
  expect(await run('async () => {}', ['SIGTERM'])).toBe(0);
});

it('ends with a failure when stopping fails or takes too long', async () => {
  expect(await run('async () => { throw new Error("on purpose"); }', ['SIGINT'])).toBe(1);
  expect(await run('() => new Promise(() => {})', ['SIGTERM'])).toBe(1);
});
