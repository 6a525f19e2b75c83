#include <fmt/format.h>
#include <malloc.h>

#include <array>
#include <cstdio>
#include <exception>
#include <stdexcept>
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
    Command{"compare", "Puts finished runs beside each other", add_compare},
    Command{"inspect", "Shows what an experiment is: topology, who holds which classes",
            add_inspect},
    Command{"bench", "Times the kernels beside their references, in one run", add_bench},
    Command{"list", "Lists what can be chosen by name: codecs, wavelets, ...", add_list},
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
    throw std::invalid_argument(fmt::format("{}. Try tessera --help", error.what()));
  }
  for (const auto& [sub, action] : actions)
    if (sub->parsed()) return action();
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
