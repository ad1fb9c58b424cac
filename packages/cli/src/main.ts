/** `leadsman`, the one command-line tool. One file per command in `commands/`. */
import { Command } from 'commander';
import { explainCommand } from './commands/explain.ts';
import { injectCommand } from './commands/inject.ts';
import { reloadCommand } from './commands/reload.ts';

const write = (text: string) => void process.stdout.write(text);
const warn = (text: string) => void process.stderr.write(text);
const setExitCode = (code: number) => {
  process.exitCode = code;
};

const program = new Command('leadsman')
  .description('Fresh load numbers of every LLM serving pod, without polling.')
  .addCommand(explainCommand({ write, warn, setExitCode, nowMs: () => performance.now() }))
  .addCommand(injectCommand({ stdin: process.stdin, write, warn }))
  .addCommand(reloadCommand({ write, warn, setExitCode }));

try {
  await program.parseAsync();
} catch (error) {
  warn(`${(error as Error).message}\n`);
  process.exitCode = 2;
}
