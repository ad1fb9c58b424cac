/** The completion of bash. Values that are not known to it are completed as files. */
import type { CompletableCommand } from './shell-words.ts';

export function bashCompletion(tool: string, commands: readonly CompletableCommand[]): string {
  const values = commands.flatMap(({ name, options }) =>
    options
      .filter((option) => option.takesValue)
      .map(({ flag, choices }) => {
        const reply = choices.length === 0 ? files : words(choices);
        return `    ${quote(`${name} ${flag}`)}) ${reply}; return ;;`;
      }),
  );
  const rest = commands.flatMap(({ name, options, choices }) => [
    `    ${quote(name)})`,
    `      if [[ $word == -* ]]; then ${words(options.map(({ flag }) => flag))}`,
    `      else ${choices.length === 0 ? files : words(choices)}; fi ;;`,
  ]);
  const names = words(commands.map(({ name }) => name));
  return `# bash completion of ${tool}: source <(${tool} completion bash)
_${tool}() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    ${names}
    return
  fi
  case "\${COMP_WORDS[1]} $before" in
${values.join('\n')}
  esac
  case "\${COMP_WORDS[1]}" in
${rest.join('\n')}
  esac
}
complete -o filenames -F _${tool} ${tool}
`;
}

const files = 'mapfile -t COMPREPLY < <(compgen -f -- "$word")';

function words(list: readonly string[]): string {
  return `mapfile -t COMPREPLY < <(compgen -W ${quote(list.join(' '))} -- "$word")`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
