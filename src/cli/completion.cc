// The shells' scripts ask the program what may come (cli/complete.h): they know how their shell
// takes words apart, and nothing of commands.
#include <array>

#include "cli/help.h"

namespace tessera {
namespace {

// Bash begins a new word after "=" and ":", and wants what comes after the last of them.
constexpr std::string_view kBash =
    R"script(# Completion of tessera's commands, flags and values, for bash.
_tessera() {
  local line=${COMP_LINE:0:COMP_POINT} words=() typed before word
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  typed=${words[-1]}
  before=${typed%"${typed##*[$COMP_WORDBREAKS]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    COMPREPLY+=("${word#"$before"}")
  done < <("${1/#\~/$HOME}" complete "${words[@]:1}" 2>/dev/null)
  if [[ ${COMPREPLY[0]-} == *[=:+] || $typed == *:*=* ]]; then compopt -o nospace; fi
}
complete -o bashdefault -o default -F _tessera tessera
)script";

constexpr std::string_view kZsh = R"script(#compdef tessera
# Completion of tessera's commands, flags and values, for zsh.
_tessera() {
  local word note
  local -a open open_notes whole whole_notes
  while IFS=$'\t' read -r word note; do
    if [[ $word == *[=:+] ]]; then
      open+=("$word") open_notes+=("$word -- $note")
    else
      whole+=("$word") whole_notes+=("$word -- $note")
    fi
  done < <("${(Q)words[1]}" complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
  if (( $#open + $#whole == 0 )); then
    compset -P '*[=:]'
    _files
    return
  fi
  (( $#open )) && compadd -l -S '' -d open_notes -a open
  (( $#whole )) && compadd -l -d whole_notes -a whole
  return 0
}
if [[ $funcstack[1] == _tessera ]]; then _tessera "$@"; else compdef _tessera tessera; fi
)script";

constexpr std::string_view kFish =
    R"script(# Completion of tessera's commands, flags and values, for fish.
function __tessera_candidates
    set -l words (commandline -opc) (commandline -ct)
    set -l found (command $words[1] complete $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
        return
    end
    set -l before (string match -r '^.*[=:]' -- $words[-1])
    set -l path (string replace -r '^.*[=:]' '' -- $words[-1])
    for file in (__fish_complete_path $path)
        printf '%s%s\n' "$before" $file
    end
end
complete -c tessera -f -a '(__tessera_candidates)'
)script";

constexpr std::array kShells = {
    Shell{"bash", "/usr/share/bash-completion/completions/tessera", kBash},
    Shell{"zsh", "/usr/share/zsh/vendor-completions/_tessera", kZsh},
    Shell{"fish", "/usr/share/fish/vendor_completions.d/tessera.fish", kFish},
};

}  // namespace

std::span<const Shell> shells() {
  return kShells;
}

}  // namespace tessera
