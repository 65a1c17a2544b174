# bash completion for gw; made by gw completion

_gw_completion() {
  local program=$1 kind= reply
  case $program in '~/'*) program=$HOME/${program#'~/'} ;; esac
  COMPREPLY=()
  {
    IFS= read -r kind
    while IFS= read -r reply; do COMPREPLY+=("$reply"); done
  } < <("$program" complete "--line=${COMP_LINE:0:COMP_POINT}" "--breaks=$COMP_WORDBREAKS" 2>/dev/null)
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
