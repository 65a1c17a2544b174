/** For bash 4 or later, with or without the package bash-completion; bash 3.2 offers files if gw knows no values. */
const bash = `# bash completion for gw; made by gw completion

_gw_completion() {
  local program=$1 kind= reply
  case $program in '~/'*) program=$HOME/\${program#'~/'} ;; esac
  COMPREPLY=()
  {
    IFS= read -r kind
    while IFS= read -r reply; do COMPREPLY+=("$reply"); done
  } < <("$program" complete "--line=\${COMP_LINE:0:COMP_POINT}" "--breaks=$COMP_WORDBREAKS" 2>/dev/null)
  # readline knows best how files are quoted.
  case $kind in
    file) compopt -o default 2>/dev/null ;;
  esac
}

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
  complete -o nosort -F _gw_completion gw
elif ((BASH_VERSINFO[0] >= 4)); then
  complete -F _gw_completion gw
else
  complete -o default -F _gw_completion gw
fi
`;

/** Install it as _gw in a directory of $fpath, or source it after compinit. */
const zsh = `#compdef gw
# zsh completion for gw; made by gw completion

_gw() {
  local program=\${(Q)words[1]} line value
  local -a reply_lines before_cursor named
  program=\${program/#\\~\\//$HOME/}
  (( CURRENT > 2 )) && before_cursor=("\${(@Q)words[2,CURRENT-1]}")
  reply_lines=("\${(@f)$("$program" complete "--at=\${(Q)PREFIX}" "\${(@)before_cursor}" 2>/dev/null)}")
  local kind=\${reply_lines[1]%%$'\\t'*} before=\${reply_lines[1]#*$'\\t'}
  [[ -n $before ]] && compset -P "\${(b)before}"
  case $kind in
    file) _files ;;
    value)
      for line in "\${(@)reply_lines[2,-1]}"; do
        value=\${line%%$'\\t'*}
        named+=("\${value//:/\\\\:}\${\${line#*$'\\t'}:+:\${line#*$'\\t'}}")
      done
      _describe -V gw named
      ;;
    *) return 1 ;;
  esac
}

if [[ $funcstack[1] == _gw ]]; then
  _gw "$@"
elif (( $+functions[compdef] )); then
  compdef _gw gw
else
  print -ru2 "gw completion: run 'autoload -Uz compinit && compinit' first"
fi
`;

/** For fish 3 or later. */
const fish = `# fish completion for gw; made by gw completion

function __gw_completion
    set -l words (commandline -opc)
    while string match -qr '^\\w+=' -- "$words[1]"
        set -e words[1]
    end
    set -l program (string replace -r '^~/' "$HOME/" -- "$words[1]")
    # A quote that is still open belongs to the line, not to the word.
    set -l current (string replace -r '^["\\']' '' -- (commandline -ct))
    set -l found ($program complete "--at=$current" $words[2..-1] 2>/dev/null)
    set -l head (string split \\t -- $found[1])
    set -l before $head[2]
    switch "$head[1]"
        case file
            set -l path (string sub --start (math (string length -- "$before") + 1) -- "$current")
            for file in (__fish_complete_path "$path")
                printf '%s%s\\n' "$before" $file
            end
        case value
            for line in $found[2..-1]
                printf '%s%s\\n' "$before" $line
            end
    end
end

complete -c gw -e
complete -c gw -f -k -a '(__gw_completion)'
`;

/** For Windows PowerShell 5.1 and PowerShell 7. */
const powershell = `# PowerShell completion for gw; made by gw completion

Register-ArgumentCompleter -Native -CommandName gw -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $program = $commandAst.GetCommandName()
    # Quotes in an argument, and an empty one, do not reach a program unharmed from every PowerShell.
    $words = @(
        $commandAst.CommandElements | Select-Object -Skip 1 |
            Where-Object { $_.Extent.EndOffset -lt $cursorPosition } |
            ForEach-Object {
                $text = if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text }
                $text = $text -replace '"', ''
                if ($text -eq '') { '-' } else { $text }
            }
    )
    $current = "$wordToComplete" -replace "[""']", ''
    $found = @(& $program complete "--at=$current" @words 2>$null)
    if ($found.Count -eq 0) { return }
    $kind, $before = $found[0] -split [char]9, 2
    # No result at all: PowerShell completes files by itself.
    if ($kind -ne 'value') { return }
    if ($found.Count -eq 1) { return '' }
    $found | Select-Object -Skip 1 | ForEach-Object {
        $value, $summary = $_ -split [char]9, 2
        if (-not $summary) { $summary = $value }
        [System.Management.Automation.CompletionResult]::new("$before$value", $value, 'ParameterValue', $summary)
    }
}
`;

/** Each shell's completion script, and its file name in completions/. */
export const shells = {
  bash: { script: bash, file: 'gw.bash' },
  zsh: { script: zsh, file: '_gw' },
  fish: { script: fish, file: 'gw.fish' },
  powershell: { script: powershell, file: 'gw.ps1' },
} as const;

export type Shell = keyof typeof shells;

export const shellNames = Object.keys(shells) as readonly Shell[];

/** The shell of a name or a path such as $SHELL; undefined if there is no script for it. */
export function shellOf(text: string): Shell | undefined {
  const name = text
    .split(/[\\/]/)
    .at(-1)
    ?.replace(/\.exe$/i, '')
    .toLowerCase();
  return shellNames.find((shell) => shell === (name === 'pwsh' ? 'powershell' : name));
}
