#include <fmt/format.h>

#include <malloc.h>
#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/command.h"
#if TESSERA_WITH_LEARN
#include "learn/blas.h"
#endif

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

// CLI11 speaks of "arguments not expected"; a person who mistyped a command wants its nearest name.
void refuse_unknown_command(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) {
    if (command.name == argv[1]) return;
    names.push_back(command.name);
  }
  throw std::invalid_argument(
      fmt::format("there is no command '{}'.{}", argv[1], suggestion(argv[1], names)));
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

// CLI11 names what it did not expect; a person wants the nearest flag there is.
std::string unknown_flag(const CLI::App& parser, const std::string& otherwise) {
  for (const CLI::App* sub : parser.get_subcommands()) {
    if (sub->remaining().empty()) continue;
    std::string word = sub->remaining().front();
    word = word.substr(0, word.find('='));
    if (!word.starts_with("--")) break;
    std::vector<std::string> names;
    for (const CLI::Option* option : sub->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    const std::vector<std::string_view> known(names.begin(), names.end());
    return fmt::format("{} has no flag '{}'.{}", sub->get_name(), word, suggestion(word, known));
  }
  return otherwise + ". Try tessera --help";
}

int run(int argc, char** argv) {
  refuse_unknown_command(argc, argv);
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
    if (error.get_exit_code() == 0) return parser.exit(error);
    throw std::invalid_argument(unknown_flag(parser, error.what()));
  }
  for (const auto& [sub, action] : actions)
    if (sub->parsed()) return action(command_line(argc, argv));
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
#if TESSERA_WITH_LEARN
  tessera::choose_blas_kernel(argv);
#endif
  // A round allocates and frees megabytes over and over. By default the allocator gives each piece
  // back to the system and page-faults it in again, which costs a large model more than encoding it
  // does.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  try {
    return tessera::run(argc, argv);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "tessera: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tessera: {}\n", error.what());
    return 1;
  }
}
