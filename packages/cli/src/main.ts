/** `leadsman`, the one command-line tool. One file per command in `commands/`. */
import { buildVersion } from '@leadsman/service/version';
import { Command, CommanderError } from 'commander';
import { completionCommand } from './commands/completion.ts';
import { doctorCommand } from './commands/doctor.ts';
import { explainCommand } from './commands/explain.ts';
import { injectCommand } from './commands/inject.ts';
import { reloadCommand } from './commands/reload.ts';
import { topCommand } from './commands/top.ts';
import { versionCommand } from './commands/version.ts';
import { exitCode } from './io/command-io.ts';

const io = {
  write: (text: string) => void process.stdout.write(text),
  warn: (text: string) => void process.stderr.write(text),
  setExitCode: (code: number) => {
    process.exitCode = code;
  },
  nowMs: () => performance.now(),
};
const { stdin, stdout, env } = process;
const isTerminal = stdin.isTTY === true && stdout.isTTY === true && env.TERM !== 'dumb';
const terminal = isTerminal ? { input: stdin, output: stdout } : undefined;

// Whoever reads our output may have seen enough: `leadsman top --json | head`.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? exitCode.good : exitCode.usage);
});

const program = new Command('leadsman')
  .description('Fresh load numbers of every LLM serving pod, without polling.')
  .version(buildVersion, '-V, --version', 'say the version of this tool')
  .addCommand(topCommand({ ...io, terminal, colour: (env.NO_COLOR ?? '') === '' }))
  .addCommand(doctorCommand(io))
  .addCommand(explainCommand(io))
  .addCommand(injectCommand({ ...io, stdin }))
  .addCommand(reloadCommand(io))
  .addCommand(versionCommand(io))
  .addCommand(completionCommand(io))
  .addHelpText(
    'after',
    '\nExit codes: 0 well; 1 a fault was found or nobody answered; 2 used wrongly.',
  );
for (const command of [program, ...program.commands]) command.exitOverride();

try {
  await program.parseAsync();
} catch (error) {
  // What commander throws it has said already.
  if (!(error instanceof CommanderError)) io.warn(`${(error as Error).message}\n`);
  const isHelp = error instanceof CommanderError && error.exitCode === 0;
  process.exitCode = isHelp ? exitCode.good : exitCode.usage;
}
