/** For bash 4 or later, with the package bash-completion or without; bash 3.2 offers files wherever gw knows nothing. */
export const bash = `# bash completion for gw; made by gw completion

_gw_completion() {
  local program=$1 word=$2 kind= reply
  case $program in '~/'*) program=$HOME/\${program#'~/'} ;; esac
  COMPREPLY=()
  {
    IFS= read -r kind
    while IFS= read -r reply; do COMPREPLY+=("$reply"); done
  } < <("$program" complete "--line=\${COMP_LINE:0:COMP_POINT}" "--breaks=$COMP_WORDBREAKS" 2>/dev/null)
  # readline knows best how files are quoted.
  case $kind in
    file)
      case $word in
        # To readline the sign is a part of the word: of a file that has it in its name.
        @*) _gw_files_at "\${word#@}" ;;
        *) compopt -o default 2>/dev/null ;;
      esac
      ;;
  esac
}

_gw_files_at() {
  local file
  while IFS= read -r file; do
    [[ -d $file ]] && file=$file/ && compopt -o nospace 2>/dev/null
    printf -v file '%q' "$file"
    COMPREPLY+=("@$file")
  done < <(compgen -f -- "$1")
}

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
  complete -o nosort -F _gw_completion gw
elif ((BASH_VERSINFO[0] >= 4)); then
  complete -F _gw_completion gw
else
  complete -o default -F _gw_completion gw
fi
`;
