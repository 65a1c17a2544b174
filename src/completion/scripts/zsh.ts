/** To be read from a directory of $fpath as _gw, or with source after compinit. */
export const zsh = `#compdef gw
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
