/**
 * `npm run bench -- NAME [--json] [--smoke] [ARGS]`: runs one benchmark, a file of this folder
 * that exports `run`. Every figure the README quotes comes from here.
 */
import { existsSync, readdirSync } from 'node:fs';
import { UsageError } from './arguments/usage-error.ts';

export interface BenchOptions {
  /** A run of a few seconds that proves the benchmark still works; its figures mean nothing. */
  smoke: boolean;
  json: boolean;
  args: readonly string[];
}

export interface BenchModule {
  /** One line for the list of benchmarks. */
  about: string;
  run(options: BenchOptions): Promise<Record<string, unknown>>;
}

const folder = new URL('.', import.meta.url);

function names(): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts') && file !== 'main.ts' && !file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -3))
    .sort();
}

async function list(): Promise<void> {
  process.stdout.write('Usage: npm run bench -- NAME [--json] [--smoke]\n\n');
  for (const name of names()) {
    const bench = (await import(new URL(`${name}.ts`, folder).href)) as BenchModule;
    process.stdout.write(`  ${name.padEnd(12)} ${bench.about}\n`);
  }
}

const [name, ...args] = process.argv.slice(2);
if (name === undefined || name === '--help') {
  await list();
} else if (
  !/^[a-z-]+$/.test(name) ||
  name === 'main' ||
  !existsSync(new URL(`${name}.ts`, folder))
) {
  process.stderr.write(`unknown benchmark "${name}"; there are: ${names().join(', ')}\n`);
  process.exit(2);
} else {
  const json = args.includes('--json');
  const bench = (await import(new URL(`${name}.ts`, folder).href)) as BenchModule;
  const options = {
    smoke: args.includes('--smoke'),
    json,
    args: args.filter((arg) => arg !== '--json' && arg !== '--smoke'),
  };
  const result = await bench.run(options).catch((error: unknown) => {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${name}: ${error.message}\n`);
    process.exit(2);
  });
  if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
  process.exit(0);
}
