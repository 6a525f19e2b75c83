#include "cli/refusals.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace tessera {
namespace {

void refuse_unknown_flag(std::string_view word) {
  constexpr std::array<std::string_view, 2> kFlags = {"--help", "--version"};
  if (word == "-h" || std::find(kFlags.begin(), kFlags.end(), word) != kFlags.end()) return;
  std::string hint = suggestion(word, kFlags);
  for (const std::string_view flag : kFlags)
    if (word.size() == 2 && std::tolower(word[1]) == flag[2])
      hint = fmt::format(" Did you mean '{}'?", flag);
  throw std::invalid_argument(fmt::format("tessera has no flag '{}'.{}", word, hint));
}

// The command that was asked for, with its parts: roster add.
const CLI::App& chosen_command(const CLI::App& parser) {
  const std::vector<CLI::App*> chosen = parser.get_subcommands();
  return chosen.empty() ? parser : chosen_command(*chosen.front());
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent ? full_name(*parent) + " " + command.get_name() : command.get_name();
}

// What roster has: add, remove, check. Most commands have none.
std::vector<std::string> parts_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* part : command.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(part->get_name());
  return names;
}

// CLI11 names what it did not expect; a person wants the nearest flag there is.
std::string unknown_word(const CLI::App& command, const std::string& argument) {
  const std::vector<std::string> parts = parts_of(command);
  const std::vector<std::string_view> words(parts.begin(), parts.end());
  if (!argument.starts_with("-") && !words.empty())
    return fmt::format("{} has no '{}'.{}", command.get_name(), argument,
                       suggestion(argument, words));
  if (!argument.starts_with("-"))
    return fmt::format("{} has no use for '{}'. Try {} --help", command.get_name(), argument,
                       full_name(command));
  const std::string word = argument.substr(0, argument.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fmt::format("{} has no flag '{}'.{}", command.get_name(), word, suggestion(word, known));
}

// CLI11's sentences in ours, where it speaks of types and counts.
std::string plainly(const CLI::App& command, const CLI::ParseError& error) {
  const std::string words = error.what();
  const std::string flag = words.substr(0, words.find(':'));
  constexpr std::string_view kConversion = "Could not convert: ";
  if (words.ends_with(" missing")) return flag + " needs a value";
  if (words.find(": At Most 1 required") != words.npos) return flag + " is given more than once";
  if (words.starts_with(kConversion))
    return words.substr(kConversion.size()) + " is not a value it takes";
  if (words == "A subcommand is required")
    return fmt::format("{} needs one of {}", command.get_name(),
                       fmt::join(parts_of(command), ", "));
  return words;
}

}  // namespace

void refuse_unknown_command(int argc, char** argv, std::span<const Command> commands) {
  if (argc < 2) throw std::invalid_argument("which command? tessera --help lists them");
  if (argv[1][0] == '-') return refuse_unknown_flag(argv[1]);
  std::vector<std::string_view> names;
  for (const Command& command : commands) {
    if (command.name == argv[1]) return;
    names.push_back(command.name);
  }
  throw std::invalid_argument(
      fmt::format("there is no command '{}'.{}", argv[1], suggestion(argv[1], names)));
}

void refuse_empty_flags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      throw std::invalid_argument(
          fmt::format("{} is empty: give it a value, or leave it out", word));
  }
}

std::string refusal(const CLI::App& parser, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(parser);
  for (const std::string& argument : command.remaining())
    if (argument != "--") return unknown_word(command, argument);
  return fmt::format("{}. Try {} --help", plainly(command, error), full_name(command));
}

}  // namespace tessera
