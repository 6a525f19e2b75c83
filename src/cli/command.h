// The program's commands, one file each. A command adds its options to the parser and returns the
// action to run when it is the one chosen; actions return the exit code: 0 done, 1 failed, 2 asked
// wrongly, 3 came to the end of a live run without having done its work, 4 removed from its roster.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

// Its header takes longer to read than all of ours.
namespace CLI {
class App;
}

namespace tessera {

inline constexpr int kWorkNotDone = 3;

// What was typed, for a run to remember how to repeat itself.
using Action = std::function<int(const std::string& command_line)>;

struct Command {
  std::string_view name{};
  std::string_view summary{};
  Action (*add)(CLI::App& parser) = nullptr;
};

Action add_accept(CLI::App& parser);
Action add_bench(CLI::App& parser);
Action add_compare(CLI::App& parser);
Action add_completion(CLI::App& parser);
Action add_help(CLI::App& parser);
Action add_inspect(CLI::App& parser);
Action add_invite(CLI::App& parser);
Action add_join(CLI::App& parser);
Action add_launch(CLI::App& parser);
Action add_keygen(CLI::App& parser);
Action add_list(CLI::App& parser);
Action add_node(CLI::App& parser);
Action add_replay(CLI::App& parser);
Action add_report(CLI::App& parser);
Action add_roster(CLI::App& parser);
Action add_sim(CLI::App& parser);
Action add_status(CLI::App& parser);
Action add_sweep(CLI::App& parser);
Action add_train(CLI::App& parser);
Action add_watch(CLI::App& parser);

}  // namespace tessera
