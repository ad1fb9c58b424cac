/** What a shell may complete, read from the commands themselves. */
import type { Command, Option } from 'commander';

export interface CompletableOption {
  /** `--json`; options are completed by their long names. */
  flag: string;
  description: string;
  takesValue: boolean;
  /** The values there are, where they are known. */
  choices: readonly string[];
}

export interface CompletableCommand {
  name: string;
  description: string;
  options: readonly CompletableOption[];
  /** Values of the first argument, where they are known. */
  choices: readonly string[];
}

export function completableCommands(program: Command): CompletableCommand[] {
  return program.commands.map((command) => ({
    name: command.name(),
    description: command.description(),
    options: [...command.options.map(optionOf), help],
    choices: command.registeredArguments[0]?.argChoices ?? [],
  }));
}

const help = { flag: '--help', description: 'display help', takesValue: false, choices: [] };

function optionOf(option: Option): CompletableOption {
  return {
    flag: option.long ?? option.flags,
    description: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
  };
}
