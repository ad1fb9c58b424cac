/** The completion of zsh, with the descriptions. Unknown values are completed as files. */
import type { CompletableCommand, CompletableOption } from './shell-words.ts';

export function zshCompletion(tool: string, commands: readonly CompletableCommand[]): string {
  const cases = commands.map(({ name, options, choices }) => {
    const values = choices.length === 0 ? '*:file:_files' : `*:value:(${choices.join(' ')})`;
    const specs = [...options.map(spec), values].map((text) => `        ${quote(text)}`);
    return `    ${name})\n      _arguments \\\n${specs.join(' \\\n')} ;;`;
  });
  const names = commands.map(({ name, description }) =>
    quote(`${name}:${description.replaceAll(':', '\\:')}`),
  );
  return `#compdef ${tool}
# zsh completion of ${tool}: source <(${tool} completion zsh)
_${tool}() {
  if (( CURRENT == 2 )); then
    local -a commands=(
      ${names.join('\n      ')}
    )
    _describe 'command' commands
    return
  fi
  local command=\${words[2]}
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
compdef _${tool} ${tool}
`;
}

function spec({ flag, description, takesValue, choices }: CompletableOption): string {
  const text = description.replace(/[[\]:\\]/g, '\\$&');
  const value = choices.length === 0 ? ':value:_files' : `:value:(${choices.join(' ')})`;
  return `${flag}[${text}]${takesValue ? value : ''}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
