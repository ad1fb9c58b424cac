import { execFileSync } from 'node:child_process';
import { Argument, Command, Option } from 'commander';
import { expect, it } from 'vitest';
import { completionCommand } from './completion.ts';

async function script(shell: string): Promise<string> {
  let out = '';
  const write = (text: string): void => {
    out += text;
  };
  const io = { write, warn: () => {}, setExitCode: () => {} };
  const program = new Command('leadsman')
    .addCommand(
      new Command('top')
        .description("it's: [live]")
        .addOption(new Option('--sort <key>', 'order').choices(['name', 'age']))
        .option('--json', 'JSON'),
    )
    .addCommand(new Command('tell').addArgument(new Argument('[what]').choices(['this', 'that'])))
    .addCommand(completionCommand(io));
  await program.parseAsync(['completion', shell], { from: 'user' });
  return out;
}

/** What bash itself makes of a command line; the last word is being typed. */
async function completed(...words: string[]): Promise<string[]> {
  const line = words.map((word) => `'${word}'`).join(' ');
  const ask = `COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _leadsman; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync('bash', ['-c', `${await script('bash')}\n${ask}`], { encoding: 'utf8' });
  return out.trim().split('\n');
}

it('completes commands, options and values in bash', async () => {
  expect(await completed('leadsman', 't')).toEqual(['top', 'tell']);
  expect(await completed('leadsman', 'top', '--')).toEqual(['--sort', '--json', '--help']);
  expect(await completed('leadsman', 'top', '--sort', 'a')).toEqual(['age']);
  expect(await completed('leadsman', 'tell', 'tha')).toEqual(['that']);
  expect(await completed('leadsman', 'top', 'package.jso')).toEqual(['package.json']);
});

it('names commands, options and values to zsh, quoted', async () => {
  const text = await script('zsh');
  expect(text).toMatch(/^#compdef leadsman\n/);
  expect(text).toContain("'top:it'\\''s\\: [live]'");
  expect(text).toContain("'--sort[order]:value:(name age)'");
  expect(text).toContain("'*:value:(this that)'");
});
