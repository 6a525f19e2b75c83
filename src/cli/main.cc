#include <fmt/format.h>

#include <malloc.h>
#include <CLI/CLI.hpp>
#include <array>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/output.h"
#include "cli/command.h"
#include "cli/complete.h"
#include "cli/failure.h"
#include "cli/refusals.h"
#include "cluster/door/door.h"

namespace tessera {
namespace {

constexpr std::array kCommands = {
    Command{"sim", "Simulates a network of nodes in virtual time", add_sim},
    Command{"sweep", "Runs a file of many experiments, on this machine or by Slurm", add_sweep},
    Command{"train", "Trains one node on all the data: the baseline to try first", add_train},
    Command{"report", "Makes one HTML page of runs, or a CSV file of their rows", add_report},
    Command{"replay", "Does again what a live node recorded, or a random world with faults",
            add_replay},
#if TESSERA_WITH_LIVE
    Command{"launch", "Runs a network of nodes as processes on this machine", add_launch},
    Command{"node", "Runs one node as a live peer", add_node},
    Command{"invite", "Makes a token for each machine that is to join a fleet", add_invite},
    Command{"join", "Joins a fleet by a token, and runs this machine's node", add_join},
    Command{"accept", "Lets those who joined by a token into the fleet", add_accept},
    Command{"status", "Asks running nodes how they are", add_status},
    Command{"watch", "Shows a fleet on a page that follows it, for a browser here", add_watch},
    Command{"keygen", "Makes the key pair by which a live node is known", add_keygen},
    Command{"roster", "Adds members to the file that lists them, removes and checks them",
            add_roster},
#endif
    Command{"compare", "Puts finished runs beside each other", add_compare},
    Command{"inspect", "Shows what an experiment is: topology, who holds which classes",
            add_inspect},
    Command{"bench", "Times the kernels beside their references, in one run", add_bench},
    Command{"list", "Lists what can be chosen by name: codecs, wavelets, ...", add_list},
    Command{"completion", "Writes what makes a shell complete commands, flags and values",
            add_completion},
    Command{"help", "Shows the commands", add_help},
};

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

// --help and --version: CLI11 would not say whether they arrived.
int show_help(const CLI::App& parser, const CLI::ParseError& error) {
  std::ostringstream out;
  const int code = parser.exit(error, out, out);
  put_out(out.str());
  return code;
}

int run(int argc, char** argv) {
  // No command of ours to a person: its words are another command's, and unfinished.
  const bool completes = argc > 1 && argv[1] == std::string_view("complete");
  if (!completes) refuse_unknown_command(argc, argv, kCommands);
  if (!completes) refuse_empty_flags(argc, argv);
  CLI::App parser("tessera: decentralized learning that sends just what is needed", "tessera");
  parser.set_version_flag("--version", TESSERA_VERSION);
  parser.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Command& command : kCommands) {
    CLI::App* sub = parser.add_subcommand(std::string(command.name), std::string(command.summary));
    actions.emplace_back(sub, command.add(*sub));
  }
  if (completes) return print_candidates(read_program(parser), {argv + 2, argv + argc});
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
  } catch (const std::exception&) {
    const Failure failure = failure_of(std::current_exception());
    print_err("tessera: {}\n", failure.text);
    return failure.code;
  }
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
  // The ranks of one simulation speak with one voice, also when its flags are wrong, and have one
  // exit code: mpirun ends the others when one fails, and the first might not have said why.
  const bool follows = argc > 1 && argv[1] == std::string_view("sim") &&
                       tessera::processes_started_together() > 1 &&
                       tessera::rank_by_environment() > 0;
  tessera::silence_output(follows);
  // A round allocates and frees megabytes over and over. By default the allocator gives each piece
  // back to the system and page-faults it in again, which costs a large model more than encoding it
  // does.
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const int code = tessera::with_output(tessera::run_and_tell(argc, argv));
  return follows ? 0 : code;
}
