/** `leadsman completion SHELL`: a script that teaches a shell the commands and their options. */
import { Argument, Command } from 'commander';
import { bashCompletion } from '../completion/bash.ts';
import { completableCommands } from '../completion/shell-words.ts';
import { zshCompletion } from '../completion/zsh.ts';
import type { CommandIo } from '../io/command-io.ts';

const shells = { bash: bashCompletion, zsh: zshCompletion };

export function completionCommand(io: CommandIo): Command {
  const command = new Command('completion')
    .description('print a completion script: source <(leadsman completion bash)')
    .addArgument(new Argument('<shell>', 'for which shell').choices(Object.keys(shells)))
    .action((shell: keyof typeof shells) => {
      const program = command.parent ?? command;
      io.write(shells[shell](program.name(), completableCommands(program)));
    });
  return command;
}
