#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "cli/help.h"

namespace tessera {
namespace {

// What a shell shows beside a word: the first clause, within single quotes.
std::string note(std::string_view summary) {
  std::string out;
  for (const char c : summary.substr(0, summary.find_first_of("\n;")))
    out += c == '\'' ? std::string("’") : std::string(1, c);
  return out;
}

// In zsh's descriptions colons and brackets end something.
std::string zsh_note(std::string_view summary) {
  std::string out;
  for (const char c : note(summary)) {
    if (c == ':' || c == '[' || c == ']') out += '\\';
    out += c;
  }
  return out;
}

std::string words_of(const std::vector<CommandHelp>& commands) {
  std::string out;
  for (const CommandHelp& command : commands) out += (out.empty() ? "" : " ") + command.name;
  return out;
}

// Bash breaks words at "=", so that what follows it is completed as a file's name.
std::string for_bash(const ProgramHelp& program) {
  std::string cases;
  for (const CommandHelp& command : program.commands) {
    std::string flags = words_of(command.parts);
    for (const FlagHelp& flag : command.flags)
      flags += fmt::format(" {}{}", flag.name, flag.takes_value ? "=" : "");
    cases += fmt::format("    {}) words='{}' ;;\n", command.name, trimmed(flags));
  }
  return fmt::format(R"(# Completion of tessera's commands and flags, for bash.
_tessera() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$word")
  elif [[ $word == -* || $words == [a-z]* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words --help" -- "$word")
    [[ ${{COMPREPLY[0]:-}} == *= ]] && compopt -o nospace
  fi
}}
complete -o default -F _tessera tessera
)",
                     cases, words_of(program.commands));
}

std::string for_zsh(const ProgramHelp& program) {
  std::string commands, cases;
  for (const CommandHelp& command : program.commands) {
    commands += fmt::format("    '{}:{}'\n", command.name, zsh_note(command.summary));
    cases += fmt::format("    {}) _arguments", command.name);
    for (const FlagHelp& flag : command.flags)
      cases += fmt::format(" \\\n      '{}{}[{}]{}'", flag.name, flag.takes_value ? "=" : "",
                           zsh_note(flag.summary), flag.takes_value ? ":value:_files" : "");
    if (!command.parts.empty())
      cases += fmt::format(" \\\n      '1:part:({})'", words_of(command.parts));
    cases += " \\\n      '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef tessera
# Completion of tessera's commands and flags, for zsh.
_tessera() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_tessera "$@"
)",
                     commands, cases);
}

std::string for_fish(const ProgramHelp& program) {
  std::string out = "# Completion of tessera's commands and flags, for fish.\n";
  for (const CommandHelp& command : program.commands) {
    out += fmt::format("complete -c tessera -n __fish_use_subcommand -f -a {} -d '{}'\n",
                       command.name, note(command.summary));
    if (!command.parts.empty())
      out += fmt::format("complete -c tessera -n '__fish_seen_subcommand_from {}' -f -a '{}'\n",
                         command.name, words_of(command.parts));
    for (const FlagHelp& flag : command.flags)
      out += fmt::format(
          "complete -c tessera -n '__fish_seen_subcommand_from {}' -l {} -d '{}'{}\n", command.name,
          flag.name.substr(2), note(flag.summary), flag.takes_value ? " -r" : "");
  }
  return out;
}

constexpr std::array kShells = {
    Shell{"bash", "/usr/share/bash-completion/completions/tessera", for_bash},
    Shell{"zsh", "/usr/share/zsh/vendor-completions/_tessera", for_zsh},
    Shell{"fish", "/usr/share/fish/vendor_completions.d/tessera.fish", for_fish},
};

}  // namespace

std::span<const Shell> shells() {
  return kShells;
}

}  // namespace tessera
