#include <fmt/format.h>

#include <malloc.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/output.h"
#include "base/text.h"
#include "cli/command.h"

namespace tessera {
namespace {

constexpr std::array kCommands = {
    Command{"sim", "Simulates a network of nodes in virtual time", add_sim},
    Command{"train", "Trains one node on all the data: the baseline to try first", add_train},
    Command{"report", "Makes one HTML page of runs, or a CSV file of their rows", add_report},
    Command{"replay", "Does again what a live node recorded, or a random world with faults",
            add_replay},
#if TESSERA_WITH_LIVE
    Command{"launch", "Runs a network of nodes as processes on this machine", add_launch},
    Command{"node", "Runs one node as a live peer", add_node},
    Command{"status", "Asks running nodes how they are", add_status},
    Command{"keygen", "Makes the key pair by which a live node is known", add_keygen},
    Command{"roster", "Adds members to the file that lists them, removes and checks them",
            add_roster},
#endif
    Command{"compare", "Puts finished runs beside each other", add_compare},
    Command{"inspect", "Shows what an experiment is: topology, who holds which classes",
            add_inspect},
    Command{"bench", "Times the kernels beside their references, in one run", add_bench},
    Command{"list", "Lists what can be chosen by name: codecs, wavelets, ...", add_list},
    Command{"completion", "Writes what makes a shell complete commands and flags", add_completion},
    Command{"help", "Shows the commands", add_help},
};

// CLI11 speaks of "arguments not expected" and of subcommands; a person who mistyped the first word
// wants its nearest name.
void refuse_unknown_flag(std::string_view word) {
  constexpr std::array<std::string_view, 2> kFlags = {"--help", "--version"};
  if (word == "-h" || std::find(kFlags.begin(), kFlags.end(), word) != kFlags.end()) return;
  std::string hint = suggestion(word, kFlags);
  for (const std::string_view flag : kFlags)
    if (word.size() == 2 && std::tolower(word[1]) == flag[2])
      hint = fmt::format(" Did you mean '{}'?", flag);
  throw std::invalid_argument(fmt::format("tessera has no flag '{}'.{}", word, hint));
}

void refuse_unknown_command(int argc, char** argv) {
  if (argc < 2) throw std::invalid_argument("which command? tessera --help lists them");
  if (argv[1][0] == '-') return refuse_unknown_flag(argv[1]);
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    if (command.name == argv[1]) return;
    names.push_back(command.name);
  }
  throw std::invalid_argument(
      fmt::format("there is no command '{}'.{}", argv[1], suggestion(argv[1], names)));
}

// To CLI11 an empty value is none, and the next argument takes its place: --out= --quiet would
// write a folder named --quiet.
void refuse_empty_flags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return;
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      throw std::invalid_argument(
          fmt::format("{} is empty: give it a value, or leave it out", word));
  }
}

// The arguments as a shell would read them back.
std::string command_line(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) {
    const std::string_view word = i == 0 ? std::string_view("tessera") : std::string_view(argv[i]);
    const bool plain =
        !word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#~!") == word.npos;
    line += fmt::format("{}{}{}{}", i == 0 ? "" : " ", plain ? "" : "'", word, plain ? "" : "'");
  }
  return line;
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

std::string refusal(const CLI::App& parser, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(parser);
  for (const std::string& argument : command.remaining())
    if (argument != "--") return unknown_word(command, argument);
  return fmt::format("{}. Try {} --help", plainly(command, error), full_name(command));
}

// --help and --version: CLI11 would not say whether they arrived.
int show_help(const CLI::App& parser, const CLI::ParseError& error) {
  std::ostringstream out;
  const int code = parser.exit(error, out, out);
  put_out(out.str());
  return code;
}

int run(int argc, char** argv) {
  refuse_unknown_command(argc, argv);
  refuse_empty_flags(argc, argv);
  CLI::App parser("tessera: decentralized learning that sends just what is needed", "tessera");
  parser.set_version_flag("--version", TESSERA_VERSION);
  parser.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Command& command : kCommands) {
    CLI::App* sub = parser.add_subcommand(std::string(command.name), std::string(command.summary));
    actions.emplace_back(sub, command.add(*sub));
  }
  try {
    parser.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return show_help(parser, error);
    throw std::invalid_argument(refusal(parser, error));
  }
  for (const auto& [sub, action] : actions)
    if (sub->parsed()) return action(command_line(argc, argv));
  return 0;
}

// The exit code, and what went wrong in one line.
int run_and_tell(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::invalid_argument& error) {
    print_err("tessera: {}\n", error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    print_err(
        "tessera: out of memory: fewer nodes, a smaller model, less data or fewer threads take "
        "less\n");
  } catch (const std::exception& error) {
    print_err("tessera: {}\n", error.what());
  }
  return 1;
}

// What was asked for and could not be printed was not done.
int with_output(int code) {
  const Result<void> finished = finish_output();
  if (finished.ok()) return code;
  // Whoever closes a pipe has read enough.
  if (finished.error().kind != "pipe") print_err("tessera: {}\n", finished.error().message);
  return code == 0 ? 1 : code;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  tessera::prepare_output();
  // A round allocates and frees megabytes over and over. By default the allocator gives each piece
  // back to the system and page-faults it in again, which costs a large model more than encoding it
  // does.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  return tessera::with_output(tessera::run_and_tell(argc, argv));
}
