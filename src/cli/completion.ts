import { allFlags, type Argument, type Command, defineCommand, type Flag, takesValue } from './shared/command.js';
import { summaryOf } from './shared/help.js';

/** The command that prints scripts about `commands`. */
export function completionOf(
  commands: Readonly<Record<string, { summary: string; load: () => Promise<Command> }>>,
): Command {
  return defineCommand({
    about: `
    Print the script with which a shell completes commands, actions, flags and files. It is the same until the next release:
    write it to a file that the shell reads.`,
    args: [{ name: 'SHELL', choices: ['bash', 'zsh', 'fish'], help: 'the shell' }],
    examples: [
      ['parley completion bash > ~/.local/share/bash-completion/completions/parley', 'bash, with bash-completion'],
      ['parley completion zsh > ~/.zfunc/_parley', 'zsh, where fpath has ~/.zfunc before compinit runs'],
      ['parley completion fish > ~/.config/fish/completions/parley.fish', 'fish'],
    ],
    async run({ positionals: [shell] }, io) {
      const all = await Promise.all(
        Object.entries(commands).map(async ([name, { summary, load }]) => ({ name, summary, command: await load() })),
      );
      const script = shell === 'bash' ? bash(all) : shell === 'zsh' ? zsh(all) : fish(all);
      io.stdout.write(script);
      return 0;
    },
  });
}

interface Named {
  name: string;
  summary: string;
  command: Command;
}

/** A command with what may follow it. */
interface Place {
  /** Such as `calls` or `calls export`. */
  words: string;
  flags: readonly [name: string, flag: Flag][];
  args: readonly Argument[];
  actions: readonly Named[];
}

function placesOf(commands: readonly Named[]): Place[] {
  return commands.flatMap(({ name, command }) => {
    const actions = actionsOf(command);
    const own: Place = { words: name, flags: flagsOf(command), args: command.args, actions };
    return [
      ...actions.map((action) => ({
        words: `${name} ${action.name}`,
        flags: flagsOf(action.command),
        args: action.command.args,
        actions: [],
      })),
      own,
    ];
  });
}

function actionsOf({ actions }: Command): Named[] {
  return Object.entries(actions).map(([name, command]) => ({ name, summary: summaryOf(command), command }));
}

function flagsOf(command: Command): [string, Flag][] {
  const flags = command.run === null ? allFlags(command) : command.flags;
  return [...Object.entries(flags), ['help', { help: 'print help' }]];
}

/** What a value is: words to choose from, a file, a folder, or anything. */
function valuesOf({
  choices,
  value,
  name,
}: {
  choices?: readonly string[];
  value?: string;
  name?: string;
}): string[] | 'file' | 'folder' | null {
  const placeholder = value ?? name ?? '';
  if (choices !== undefined) return [...choices];
  if (/^[a-z-]+(?:\|[a-z-]+)+$/i.test(placeholder)) return placeholder.split('|');
  if (['FILE', 'SUITE', 'LOG'].includes(placeholder)) return 'file';
  return placeholder === 'DIR' ? 'folder' : null;
}

function bash(commands: readonly Named[]): string {
  const places = placesOf(commands);
  const cases = places.map(({ words, flags, args, actions }) => {
    const names = flags.map(([name]) => `--${name}`);
    const ofArgs = args.map((arg) => valuesOf(arg));
    const own = [...actions.map(({ name }) => name), ...ofArgs.flatMap((one) => (Array.isArray(one) ? one : []))];
    const values = flags.flatMap(([name, flag]) => {
      if (!takesValue(flag)) return [];
      const kind = valuesOf(flag);
      const work = Array.isArray(kind) ? `words ${kind.join(' ')}` : (kind ?? 'none');
      return [`        ${flag.short === undefined ? '' : `-${flag.short}|`}--${name}) _parley_${work}; return ;;`];
    });
    const pattern = words.includes(' ') ? `'${words}'` : `'${words} '*`;
    return [
      `    ${pattern})`,
      ...(values.length === 0 ? [] : ['      case $prev in', ...values, '      esac']),
      `      if [[ $cur == -* ]]; then _parley_words ${names.join(' ')}; _parley_none; return; fi`,
      ...(actions.length > 0
        ? [`      if ((COMP_CWORD == 2)); then _parley_words ${own.join(' ')}; fi`]
        : own.length > 0
          ? [`      _parley_words ${own.join(' ')}`]
          : []),
      ...(ofArgs.includes('file') ? [] : ['      ((${#COMPREPLY[@]})) || _parley_none']),
      '      ;;',
    ].join('\n');
  });
  const names = commands.map(({ name }) => name).join(' ');
  return `# bash completion of parley
_parley_words() { mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur"); }
_parley_file() { :; } # the default of readline
_parley_folder() { compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur"); }
_parley_none() { compopt +o default; }
_parley() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  # "=" is a word of its own.
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then _parley_words ${names} help --help --version; return; fi
  if [[ \${COMP_WORDS[1]} == help ]]; then
    if ((COMP_CWORD == 2)); then _parley_words ${names}; return; fi
    case \${COMP_WORDS[2]} in
${places.flatMap(({ words, actions }) => (actions.length === 0 ? [] : [`      ${words}) _parley_words ${actions.map(({ name }) => name).join(' ')} ;;`])).join('\n')}
      *) _parley_none ;;
    esac
    return
  fi
  case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${cases.join('\n')}
  esac
}
complete -o default -F _parley parley
`;
}

function zsh(commands: readonly Named[]): string {
  const described = (list: readonly Named[]): string =>
    list.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(' ');
  const bodies = commands.map(({ name, command }) => {
    const actions = actionsOf(command);
    const own = `_arguments -s ${zshSpecs(flagsOf(command), command.args)}`;
    if (actions.length === 0) return `    ${name}) ${own} ;;`;
    const cases = actions.map(
      (action) =>
        `        ${action.name}) shift words; ((CURRENT--)); _arguments -s ${zshSpecs(flagsOf(action.command), action.command.args)} ;;`,
    );
    return `    ${name})
      if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
        list=(${described(actions)})
        _describe action list${command.args.length > 0 ? '; _files' : ''}
        return
      fi
      case $words[2] in
${cases.join('\n')}
        *) ${own} ;;
      esac
      ;;`;
  });
  return `#compdef parley
# zsh completion of parley
_parley() {
  local -a list
  if ((CURRENT == 2)) || { ((CURRENT == 3)) && [[ $words[2] == help ]] }; then
    list=(${described(commands)} 'help:explain a command')
    _describe command list
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${bodies.join('\n')}
  esac
}
if [[ $funcstack[1] == _parley ]]; then _parley "$@"; else compdef _parley parley; fi
`;
}

/** The specifications of \`_arguments\`. */
function zshSpecs(flags: readonly [string, Flag][], args: readonly Argument[]): string {
  const escaped = (text: string): string => text.replaceAll(/[[\]:\\]/g, '\\$&');
  const action = (kind: ReturnType<typeof valuesOf>): string =>
    Array.isArray(kind) ? `(${kind.join(' ')})` : kind === 'file' ? '_files' : kind === 'folder' ? '_files -/' : ' ';
  const ofFlags = flags.map(([name, flag]) => {
    const value = takesValue(flag) ? `:${escaped(flag.value ?? 'value')}:${action(valuesOf(flag))}` : '';
    return quoted(`${flag.repeatable === true ? '*' : ''}--${name}[${escaped(flag.help)}]${value}`);
  });
  const ofArgs = args.map((arg, at) =>
    quoted(`${arg.many === true ? '*' : String(at + 1)}:${arg.name}:${action(valuesOf(arg))}`),
  );
  return [...ofFlags, ...ofArgs].join(' ');
}

function fish(commands: readonly Named[]): string {
  const lines = commands.map(
    ({ name, summary }) => `complete -c parley -n '__parley_at' -a ${name} -d ${quoted(summary, '\\')}`,
  );
  for (const { words, flags, args, actions } of placesOf(commands)) {
    const others = actions.map(({ name }) => name);
    const here = `-n ${quoted(`__parley_in ${words}${others.length > 0 ? `; and not __parley_in_any '${words}' ${others.join(' ')}` : ''}`, '\\')}`;
    for (const { name, summary } of actions) {
      lines.push(`complete -c parley -n '__parley_at ${words}' -a ${name} -d ${quoted(summary, '\\')}`);
      lines.push(`complete -c parley -n '__parley_at help ${words}' -a ${name} -d ${quoted(summary, '\\')}`);
    }
    for (const [name, flag] of flags) {
      const short = flag.short === undefined ? '' : ` -s ${flag.short}`;
      lines.push(
        `complete -c parley ${here} -l ${name}${short}${fishValue(takesValue(flag) ? valuesOf(flag) : 'switch')} -d ${quoted(flag.help, '\\')}`,
      );
    }
    for (const arg of args) {
      const kind = valuesOf(arg);
      if (Array.isArray(kind)) lines.push(`complete -c parley ${here} -a ${quoted(kind.join(' '), '\\')}`);
      else if (kind === 'file') lines.push(`complete -c parley ${here} -F`);
    }
  }
  return `# fish completion of parley
function __parley_at # the words so far are these
    set -l words (commandline -opc)
    test "$words[2..]" = "$argv"
end
function __parley_in # the words so far begin with these
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end
function __parley_in_any # an action of a command has been given
    set -l words (commandline -opc)
    test (count $words) -ge 3; and test "$words[2]" = "$argv[1]"; and contains -- $words[3] $argv[2..]
end
complete -c parley -f
complete -c parley -n '__parley_at' -a help -d 'explain a command'
complete -c parley -n '__parley_at help' -a ${quoted(commands.map(({ name }) => name).join(' '), '\\')}
${lines.join('\n')}
`;
}

function fishValue(kind: ReturnType<typeof valuesOf> | 'switch'): string {
  if (kind === 'switch') return '';
  if (Array.isArray(kind)) return ` -x -a ${quoted(kind.join(' '), '\\')}`;
  if (kind === 'file') return ' -r -F';
  return kind === 'folder' ? " -x -a '(__fish_complete_directories)'" : ' -x';
}

/** Text in single quotes; in bash and zsh they end for a quote, in fish a backslash precedes it. */
function quoted(text: string, escape = ''): string {
  if (escape === '') return `'${text.replaceAll("'", `'\\''`)}'`;
  return `'${text.replaceAll(/[\\']/g, String.raw`\$&`)}'`;
}
